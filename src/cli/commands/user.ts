import { emailAddress } from '#src/contract/email-address.js';
import { operatorReading } from '#src/contract/reading.js';
import { displayName, newId, phoneNumber } from '#src/contract/shapes.js';
import { passwordText, searchParameter, toUser } from '#src/features/index.js';
import { projectCommand } from '../line/command.js';
import { creating } from '../line/deleted-ids.js';
import { valid, validFlag } from '../line/input.js';
import { idOption } from '../line/options.js';
import { notePage, pageOptions, pageQueries } from '../line/page.js';
import { columns } from '../terminal/table.js';
import { userChangeCommands } from './user-changes.js';
import { erase } from './user-erase.js';
import { userExport } from './user-export.js';
import { userImport } from './user-import.js';
import {
  calledOf,
  findUser,
  passwordOptions,
  passwordProblem,
  readPassword,
  shownUser,
  statusOf,
  userArgument,
} from './user-view.js';

const create = projectCommand({
  path: 'user create',
  summary: 'Creates a user with a password',
  options: [
    { flag: '--email', value: 'ADDRESS', summary: 'email address', required: true },
    { flag: '--name', value: 'NAME', summary: 'display name' },
    { flag: '--phone', value: 'NUMBER', summary: 'phone number, such as +14155550123' },
    idOption,
    ...passwordOptions,
  ],
  examples: [
    `printf 'correct horse battery' | svc user create --project shop --email ada@example.com --name Ada --password-stdin`,
    `printf 'staple paper clip' | svc user create --project shop --email bob@example.com --id bob --password-stdin --json`,
    `printf 'quiet river stone' | svc user create --project shop --email eve@example.com --password-stdin`,
  ],
  run: async (call) => {
    const { args, runtime, features, auditContext } = call;
    const project = await call.findProject();
    const [email, name] = [
      valid(emailAddress, '--email', args.required('--email')),
      valid(displayName, '--name', args.text('--name') ?? ''),
    ];
    const problem = (password: string) => passwordProblem(call, password, { email, name, projectName: project.name });
    const input = {
      id: valid(newId, '--id', args.text('--id') ?? runtime.random.id()),
      email,
      phone: validFlag(args, '--phone', phoneNumber) ?? null,
      name,
      password: valid(passwordText, 'The password', await readPassword(call, problem)),
      address: null,
    };
    const signUp = () => features.userChanges.signUp(auditContext(project.id), project, input);
    return shownUser(await creating(call, 'user', signUp));
  },
});

const list = projectCommand({
  path: 'user list',
  summary: 'Lists the users of a project, oldest first',
  options: [
    {
      flag: '--search',
      value: 'WORD',
      summary: 'only users with this text in id, name, email address or phone number',
    },
    ...pageOptions,
  ],
  examples: ['svc user list --project shop', 'svc user list --project shop --search ada --limit 10 --json'],
  run: async (call) => {
    const { args, runtime, features } = call;
    const { id: projectId } = await call.findProject();
    const { total, users } = await features.users.list(projectId, {
      queries: pageQueries(args),
      search: valid(searchParameter.search, '--search', args.text('--search') ?? ''),
      total: true,
      budget: runtime.budgets.open(operatorReading),
    });
    notePage(
      call,
      users.map(({ id }) => id),
      total,
    );
    return {
      value: { total, users: users.map(toUser) },
      text: columns(
        ['ID', 'E-MAIL', 'VERIFIED', 'NAME', 'STATUS', 'CREATED'],
        users.map((user) => [
          ...[user.id, user.email ?? '', user.emailVerification ? 'yes' : 'no', user.name, statusOf(user)],
          user.createdAt,
        ]),
      ),
    };
  },
});

const show = projectCommand({
  path: 'user show',
  summary: 'Shows a user',
  arguments: [userArgument],
  examples: ['svc user show ada@example.com --project shop', 'svc user show bob --project shop --json'],
  run: async (call) => shownUser((await findUser(call)).account),
});

const block = projectCommand({
  path: 'user block',
  summary: 'Blocks a user and ends all sessions. Running servers refuse the user at the next request',
  arguments: [userArgument],
  examples: ['svc user block bob --project shop', 'svc user block eve@example.com --project shop --json'],
  run: async (call) => {
    const { project, account } = await findUser(call);
    return shownUser(await call.work(project.id, (unit) => call.features.userChanges.block(unit, project, account)));
  },
});

const unblock = projectCommand({
  path: 'user unblock',
  summary: 'Unblocks a user. The user can sign in again',
  arguments: [userArgument],
  examples: ['svc user unblock bob --project shop', 'svc user unblock eve@example.com --project shop --json'],
  run: async (call) => {
    const { project, account } = await findUser(call);
    return shownUser(await call.work(project.id, (unit) => call.features.userChanges.unblock(unit, project, account)));
  },
});

const resetMfa = projectCommand({
  path: 'user reset-mfa',
  summary: 'Turns off the second factor of a user who has lost it. Removes the authenticator and the recovery codes',
  arguments: [userArgument],
  examples: [
    'svc user reset-mfa bob --project shop --yes',
    'svc user reset-mfa eve@example.com --project shop --yes --json',
  ],
  run: async (call) => {
    const { project, account } = await findUser(call);
    await call.prompts.confirm(`Turn off the second factor of ${calledOf(account)} of ${project.id}?`);
    return shownUser(await call.work(project.id, (unit) => call.features.secondFactor.reset(unit, project, account)));
  },
});

const remove = projectCommand({
  path: 'user delete',
  summary: 'Deletes a user and all sessions, memberships and invitations of that user',
  arguments: [userArgument],
  examples: ['svc user delete bob --project shop --yes', 'svc user delete eve@example.com --project shop --yes --json'],
  run: async (call) => {
    const { project, account } = await findUser(call);
    const called = calledOf(account);
    await call.prompts.confirm(`Delete the user ${called} of ${project.id}?`);
    const { userChanges } = call.features;
    await call.work(project.id, async (unit) =>
      userChanges.remove(unit, project, await userChanges.lockById(unit, project, account.id)),
    );
    return { value: { $id: account.id, deleted: true }, text: `User ${called} is deleted.` };
  },
});

/** `svc user …` */
export const userCommands = [
  create,
  list,
  show,
  ...userChangeCommands,
  userExport,
  userImport,
  block,
  unblock,
  resetMfa,
  remove,
  erase,
];
