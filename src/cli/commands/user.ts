import { displayName, emailAddress, newId, phoneNumber } from '#src/contract/shapes.js';
import { passwordText, searchParameter, toUser } from '#src/features/index.js';
import { command, projectOption } from '../command.js';
import { valid, wholeNumber } from '../input.js';
import { columns } from '../output.js';
import { userChangeCommands } from './user-changes.js';
import { calledOf, findUser, passwordOptions, readPassword, shownUser, statusOf, userArgument } from './user-view.js';

const create = command({
  path: 'user create',
  summary: 'Creates a user with a password',
  options: [
    projectOption,
    { flag: '--email', value: 'ADDRESS', summary: 'e-mail address', required: true },
    { flag: '--name', value: 'NAME', summary: 'display name' },
    { flag: '--phone', value: 'NUMBER', summary: 'phone number, such as +14155550123' },
    { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' },
    ...passwordOptions,
  ],
  examples: [
    `printf 'correct horse battery' | svc user create --project shop --email ada@example.com --name Ada --password-stdin`,
    `printf 'staple paper clip' | svc user create --project shop --email bob@example.com --id bob --password-stdin --json`,
    `printf 'quiet river stone' | svc user create --project shop --email eve@example.com --password-stdin`,
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed, appliance, by } = call;
    const { platform, features } = appliance;
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const phone = typed.text('--phone');
    const given = {
      id: valid(newId, '--id', typed.text('--id') ?? platform.random.id()),
      email: valid(emailAddress, '--email', typed.required('--email')),
      phone: phone === undefined ? null : valid(phoneNumber, '--phone', phone),
      name: valid(displayName, '--name', typed.text('--name') ?? ''),
      password: valid(passwordText, 'The password', await readPassword(call)),
    };
    return shownUser(await features.users.signUp(by(project.id), project, given));
  },
});

const list = command({
  path: 'user list',
  summary: 'Lists the users of a project, oldest first',
  options: [
    projectOption,
    { flag: '--search', value: 'WORD', summary: 'only those whose id, name, e-mail address or phone number holds it' },
    { flag: '--limit', value: 'N', summary: 'at most so many (default: 100)', group: 'Page' },
    { flag: '--offset', value: 'N', summary: 'after so many (default: 0)', group: 'Page' },
  ],
  examples: ['svc user list --project shop', 'svc user list --project shop --search ada --limit 10 --json'],
  needs: 'appliance',
  run: async ({ typed, output, appliance: { platform, features } }) => {
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const query = (method: string, value: number) => JSON.stringify({ method, values: [value] });
    const { total, users } = await features.users.list(project, {
      queries: [
        query('limit', wholeNumber(typed, '--limit', 100, 5000)),
        query('offset', wholeNumber(typed, '--offset', 0, Number.MAX_SAFE_INTEGER)),
      ],
      search: valid(searchParameter.search, '--search', typed.text('--search') ?? ''),
      total: true,
    });
    if (users.length < total) output.note(`${users.length} of ${total}; --offset and --limit show others`);
    return {
      value: { total, users: users.map(toUser) },
      text: columns(
        ['ID', 'E-MAIL', 'NAME', 'STATUS', 'CREATED'],
        users.map((user) => [user.id, user.email ?? '', user.name, statusOf(user), user.createdAt]),
      ),
    };
  },
});

const show = command({
  path: 'user show',
  summary: 'Shows a user',
  arguments: [userArgument],
  options: [projectOption],
  examples: ['svc user show ada@example.com --project shop', 'svc user show bob --project shop --json'],
  needs: 'appliance',
  run: async (call) => shownUser((await findUser(call)).account),
});

const block = command({
  path: 'user block',
  summary: 'Blocks a user and ends all sessions; a running server refuses them at the next request',
  arguments: [userArgument],
  options: [projectOption],
  examples: ['svc user block bob --project shop', 'svc user block eve@example.com --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { platform, features } = call.appliance;
    return shownUser(
      await platform.db.work(call.by(project.id), (unit) => features.users.block(unit, project, account)),
    );
  },
});

const unblock = command({
  path: 'user unblock',
  summary: 'Lets a blocked user log in again',
  arguments: [userArgument],
  options: [projectOption],
  examples: ['svc user unblock bob --project shop', 'svc user unblock eve@example.com --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { platform, features } = call.appliance;
    return shownUser(
      await platform.db.work(call.by(project.id), (unit) => features.users.unblock(unit, project, account)),
    );
  },
});

const resetMfa = command({
  path: 'user reset-mfa',
  summary: 'Takes the second factor from a user who has lost it: authenticator and recovery codes',
  arguments: [userArgument],
  options: [projectOption],
  examples: [
    'svc user reset-mfa bob --project shop --yes',
    'svc user reset-mfa eve@example.com --project shop --yes --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { platform, features } = call.appliance;
    await call.prompts.confirm(`Turn off the second factor of ${calledOf(account)} of ${project.id}?`);
    return shownUser(
      await platform.db.work(call.by(project.id), (unit) => features.secondFactor.reset(unit, project, account)),
    );
  },
});

const remove = command({
  path: 'user delete',
  summary: 'Deletes a user with all sessions',
  arguments: [userArgument],
  options: [projectOption],
  examples: ['svc user delete bob --project shop --yes', 'svc user delete eve@example.com --project shop --yes --json'],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await findUser(call);
    const { platform, features } = call.appliance;
    const called = calledOf(account);
    await call.prompts.confirm(`Delete the user ${called} of ${project.id}?`);
    await platform.db.work(call.by(project.id), (unit) => features.users.remove(unit, project, account));
    return { value: { $id: account.id, deleted: true }, text: `User ${called} is deleted.` };
  },
});

/** `svc user …` */
export const userCommands = [create, list, show, ...userChangeCommands, block, unblock, resetMfa, remove];
