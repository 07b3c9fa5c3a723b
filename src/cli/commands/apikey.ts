import { Failure } from '#src/contract/errors.js';
import { toKey } from '#src/features/index.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import { type CommandResult, command, optionalProject, projectCommand } from '../line/command.js';
import { commaList, instantInput, validFlag } from '../line/input.js';
import { notFoundError, shellWord, usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

const create = projectCommand({
  path: 'apikey create',
  summary: 'Creates a server key of a project and prints its secret, which is never shown again',
  options: [
    { flag: '--name', value: 'NAME', summary: 'name of the key, such as backend', required: true },
    { flag: '--scopes', value: 'SCOPES', summary: 'scopes separated by commas, or all', required: true },
    { flag: '--expires', value: 'TIME', summary: 'expiry, such as 2030-01-31T12:00:00Z (default: never)' },
  ],
  examples: [
    'svc apikey create --project shop --name backend --scopes all --json',
    'svc apikey create --project shop --name ci --scopes platforms.read,platforms.write --expires 2099-12-31T00:00:00Z',
    'svc apikey create --project shop --name old --scopes sessions.write',
  ],
  run: async ({ args, runtime, features, findProject, work }) => {
    const project = await findProject();
    const expire = validFlag(args, '--expires', instantInput) ?? null;
    if (expire !== null && millisecondsOf(expire) <= runtime.clock.now())
      throw usageError(`--expires must lie in the future; it is ${expire}.`, 'give a later time, or leave it out');
    const input = {
      name: args.required('--name'),
      scopes: commaList(args.required('--scopes')),
      expire,
    };
    const key = await work(project.id, (unit) => features.serverKeys.create(unit, project.id, input));
    const text = pairs([
      ['id', key.id],
      ['name', key.name],
      ['scopes', key.scopes.join(', ')],
      ['expires', key.expire ?? 'never'],
      ['secret', key.secret],
    ]);
    return {
      value: { ...toKey(key), secret: key.secret },
      text,
      next: 'keep the secret; it cannot be shown again',
    };
  },
});

const list = projectCommand({
  path: 'apikey list',
  summary: 'Lists the server keys of a project, without secrets',
  examples: ['svc apikey list --project shop', 'svc apikey list --project shop --json'],
  run: async ({ runtime, features, findProject }) => {
    const keys = await features.serverKeys.list(runtime.db, (await findProject()).id);
    return {
      value: { total: keys.length, keys: keys.map(toKey) },
      text: columns(
        ['ID', 'NAME', 'SCOPES', 'EXPIRES', 'LAST USE'],
        keys.map((key) => [key.id, key.name, key.scopes.join(','), key.expire ?? 'never', lastUseOf(key)]),
      ),
    };
  },
});

const revoke = command({
  path: 'apikey revoke',
  summary: 'Revokes a server key. Running servers refuse it at the next request',
  arguments: [{ name: 'KEY', summary: 'id of the key or, with --project, its name', values: 'apikey' }],
  options: [optionalProject('the project; needed if KEY is a name')],
  examples: ['svc apikey revoke old --project shop --yes', 'svc apikey revoke ci --project shop --yes --json'],
  run: async ({ args, prompts, runtime, features, work }): Promise<CommandResult> => {
    const [given, project] = [args.argument('KEY'), args.text('--project')];
    const key = await features.serverKeys.find(runtime.db, given, project).catch((error: unknown) => {
      if (project !== undefined || !(error instanceof Failure && error.type === 'key_not_found')) throw error;
      const fix = `if that is its name, name the project too: svc apikey revoke ${shellWord(given)} --project ID`;
      throw notFoundError(error.type, `There is no server key with the id ${given}.`, fix);
    });
    await prompts.confirm(`Revoke the server key ${key.name} (${key.id}) of ${key.projectId}?`);
    await work(key.projectId, (unit) => features.serverKeys.revoke(unit, key.id));
    return { value: { $id: key.id, revoked: true }, text: `Server key ${key.name} (${key.id}) is revoked.` };
  },
});

/** The date of the last use, in UTC. It is recorded once a day, so the time is meaningless. */
function lastUseOf({ accessedAt }: { readonly accessedAt: string | null }): string {
  return accessedAt === null ? 'never' : accessedAt.slice(0, 10);
}

/** `svc apikey …` */
export const apikeyCommands = [create, list, revoke];
