import type { Account } from '#src/contract/account.js';
import { displayName, emailAddress, newId, phoneNumber } from '#src/contract/shapes.js';
import { passwordText, searchParameter, toUser } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { type ApplianceCall, command, projectOption } from '../command.js';
import { usageError } from '../exit.js';
import { readSecretFile, readStdin, valid, wholeNumber } from '../input.js';
import { columns, pairs } from '../output.js';

const userArgument = { name: 'USER', summary: 'id or e-mail address of the user' } as const;
const secrets = 'Password (asked for on a terminal)';

const create = command({
  path: 'user create',
  summary: 'Creates a user with a password',
  options: [
    projectOption,
    { flag: '--email', value: 'ADDRESS', summary: 'e-mail address', required: true },
    { flag: '--name', value: 'NAME', summary: 'display name' },
    { flag: '--phone', value: 'NUMBER', summary: 'phone number, such as +14155550123' },
    { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' },
    { flag: '--password-stdin', summary: 'read it from stdin', group: secrets },
    { flag: '--secret-file', value: 'FILE', summary: 'read it from a file', group: secrets },
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
    return shown(await features.users.signUp(by(project.id), project, given));
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
  run: async (call) => shown((await find(call)).account),
});

const block = command({
  path: 'user block',
  summary: 'Blocks a user and ends all sessions; a running server refuses them at the next request',
  arguments: [userArgument],
  options: [projectOption],
  examples: ['svc user block bob --project shop', 'svc user block eve@example.com --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const { project, account } = await find(call);
    const { platform, features } = call.appliance;
    return shown(await platform.db.work(call.by(project.id), (unit) => features.users.block(unit, project, account)));
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
    const { project, account } = await find(call);
    const { platform, features } = call.appliance;
    return shown(await platform.db.work(call.by(project.id), (unit) => features.users.unblock(unit, project, account)));
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
    const { project, account } = await find(call);
    const { platform, features } = call.appliance;
    const called = account.email === null ? account.id : `${account.id} (${account.email})`;
    await call.prompts.confirm(`Delete the user ${called} of ${project.id}?`);
    await platform.db.work(call.by(project.id), (unit) => features.users.remove(unit, project, account));
    return { value: { $id: account.id, deleted: true }, text: `User ${called} is deleted.` };
  },
});

/** `svc user …` */
export const userCommands = [create, list, show, block, unblock, remove];

async function find({ typed, appliance: { platform, features } }: ApplianceCall) {
  const project = await features.projects.get(platform.db, typed.required('--project'));
  return { project, account: await features.users.find(project, typed.argument('USER')) };
}

async function readPassword({ typed, prompts }: ApplianceCall): Promise<string> {
  const file = typed.text('--secret-file');
  if (typed.isSet('--password-stdin')) {
    if (file === undefined) return readStdin();
    throw usageError('--password-stdin and --secret-file exclude each other.', 'give one of them');
  }
  return file === undefined
    ? prompts.askSecret('Password', '--password-stdin or --secret-file FILE')
    : readSecretFile(file);
}

function statusOf({ status }: Account): string {
  return status ? 'active' : 'blocked';
}

function shown(account: Account): Answer {
  return {
    value: toUser(account),
    text: pairs([
      ['id', account.id],
      ['e-mail', account.email ?? ''],
      ['phone', account.phone ?? ''],
      ['name', account.name],
      ['status', statusOf(account)],
      ['created', account.createdAt],
      ['last seen', account.accessedAt ?? 'never'],
    ]),
  };
}
