import { toKey } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { command, projectOption } from '../command.js';
import { instant, valid } from '../input.js';
import { columns, pairs } from '../output.js';

const create = command({
  path: 'apikey create',
  summary: 'Creates a server key of a project; its secret is printed this once',
  options: [
    projectOption,
    { flag: '--name', value: 'NAME', summary: 'what it is for', required: true },
    { flag: '--scopes', value: 'SCOPES', summary: 'what it may do: names separated by commas, or all', required: true },
    { flag: '--expires', value: 'TIME', summary: 'when it ends, such as 2030-01-31T12:00:00Z (default: never)' },
  ],
  examples: [
    'svc apikey create --project shop --name backend --scopes all --json',
    'svc apikey create --project shop --name ci --scopes platforms.read,platforms.write --expires 2099-12-31T00:00:00Z',
    'svc apikey create --project shop --name old --scopes sessions.write',
  ],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features }, by }) => {
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const expires = typed.text('--expires');
    const given = {
      name: typed.required('--name'),
      scopes: typed
        .required('--scopes')
        .split(',')
        .map((scope) => scope.trim()),
      expire: expires === undefined ? null : valid(instant, '--expires', expires),
    };
    const key = await platform.db.work(by(project.id), (unit) => features.serverKeys.create(unit, project.id, given));
    const text = pairs([
      ['id', key.id],
      ['name', key.name],
      ['scopes', key.scopes.join(', ')],
      ['expires', key.expire ?? 'never'],
      ['secret', key.secret],
    ]);
    return { value: { ...toKey(key), secret: key.secret }, text, next: 'keep the secret; it cannot be shown again' };
  },
});

const list = command({
  path: 'apikey list',
  summary: 'Lists the server keys of a project, without secrets',
  options: [projectOption],
  examples: ['svc apikey list --project shop', 'svc apikey list --project shop --json'],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features } }) => {
    const project = await features.projects.get(platform.db, typed.required('--project'));
    const keys = await features.serverKeys.list(platform.db, project.id);
    return {
      value: { total: keys.length, keys: keys.map(toKey) },
      text: columns(
        ['ID', 'NAME', 'SCOPES', 'EXPIRES', 'LAST USE'],
        keys.map((key) => [key.id, key.name, key.scopes.join(','), key.expire ?? 'never', key.accessedAt ?? 'never']),
      ),
    };
  },
});

const revoke = command({
  path: 'apikey revoke',
  summary: 'Revokes a server key; a running server refuses it at the next request',
  arguments: [{ name: 'KEY', summary: 'its id or, with --project, its name' }],
  options: [{ flag: '--project', value: 'ID', summary: 'the project, where KEY is a name' }],
  examples: ['svc apikey revoke old --project shop --yes', 'svc apikey revoke ci --project shop --yes --json'],
  needs: 'appliance',
  run: async ({ typed, prompts, appliance: { platform, features }, by }): Promise<Answer> => {
    const key = await features.serverKeys.find(platform.db, typed.argument('KEY'), typed.text('--project'));
    await prompts.confirm(`Revoke the server key ${key.name} (${key.id}) of ${key.projectId}?`);
    await platform.db.work(by(key.projectId), (unit) => features.serverKeys.revoke(unit, key.id));
    return { value: { $id: key.id, revoked: true }, text: `Server key ${key.name} (${key.id}) is revoked.` };
  },
});

/** `svc apikey …` */
export const apikeyCommands = [create, list, revoke];
