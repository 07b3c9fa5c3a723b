import { databasesApi } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import { command, projectOption } from '../command.js';
import { usageError } from '../exit.js';
import { onOrOff, switchOption } from '../input.js';
import { operate } from '../operate.js';
import { columns, pairs } from '../output.js';

const idArgument = { name: 'ID', summary: 'id of the database' } as const;
const enabled = switchOption('--enabled', 'off: it exists for server keys only (default: on)');

const create = command({
  path: 'database create',
  summary: 'Creates a database: a container of collections',
  arguments: [{ name: 'NAME', summary: 'what people call it' }],
  options: [
    projectOption,
    { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' },
    enabled,
  ],
  examples: [
    'svc database create Blog --project shop --id blog',
    'svc database create "Old blog" --project shop --id old-blog --enabled off --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const body = {
      databaseId: typed.text('--id') ?? 'unique()',
      name: typed.argument('NAME'),
      ...onOrOff(typed, enabled),
    };
    const made = await operate(call, databasesApi.create, { body });
    const next = `svc collection create NAME --project ${typed.required('--project')} --database ${made.$id}`;
    return { ...shown(made), next };
  },
});

const list = command({
  path: 'database list',
  summary: 'Lists the databases of a project',
  options: [projectOption],
  examples: ['svc database list --project shop', 'svc database list --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const value = await operate(call, databasesApi.list);
    const rows = value.databases.map((one) => [one.$id, one.name, one.enabled ? 'on' : 'off', one.$createdAt]);
    return { value, text: columns(['ID', 'NAME', 'ENABLED', 'CREATED'], rows) };
  },
});

const show = command({
  path: 'database show',
  summary: 'Shows a database',
  arguments: [idArgument],
  options: [projectOption],
  examples: ['svc database show blog --project shop', 'svc database show blog --project shop --json'],
  needs: 'appliance',
  run: async (call) =>
    shown(await operate(call, databasesApi.get, { params: { databaseId: call.typed.argument('ID') } })),
});

const update = command({
  path: 'database update',
  summary: 'Changes the name of a database, or whether it is enabled',
  arguments: [idArgument],
  options: [projectOption, { flag: '--name', value: 'NAME', summary: 'another name' }, enabled],
  examples: [
    'svc database update blog --project shop --name "The blog"',
    'svc database update old-blog --project shop --enabled on --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const body = { name: typed.text('--name'), ...onOrOff(typed, enabled) };
    if (Object.values(body).every((value) => value === undefined))
      throw usageError('There is nothing to change.', 'give --name NAME or --enabled on|off');
    return shown(await operate(call, databasesApi.update, { params: { databaseId: typed.argument('ID') }, body }));
  },
});

const remove = command({
  path: 'database delete',
  summary: 'Deletes a database with its collections and all their documents',
  arguments: [idArgument],
  options: [
    projectOption,
    { flag: '--confirm', value: 'NAME', summary: 'id or name of the database, instead of typing it when asked' },
  ],
  examples: [
    'svc database create Trial --project shop --id trial && svc database delete trial --project shop --confirm trial',
    'svc database delete old-blog --project shop --confirm "Old blog" --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = { databaseId: call.typed.argument('ID') };
    const { $id, name } = await operate(call, databasesApi.get, { params });
    const question = `This deletes the database ${$id} (${name}) with all its documents, for good.`;
    await call.prompts.confirmByName(question, [$id, name], call.typed.text('--confirm'));
    await operate(call, databasesApi.delete, { params });
    return { value: { $id, deleted: true }, text: `Database ${$id} is deleted.` };
  },
});

/** `svc database …` */
export const databaseCommands = [create, list, show, update, remove];

function shown(database: { $id: string; name: string; enabled: boolean; $createdAt: string }): Answer {
  return {
    value: database,
    text: pairs([
      ['id', database.$id],
      ['name', database.name],
      ['enabled', database.enabled ? 'on' : 'off'],
      ['created', database.$createdAt],
    ]),
  };
}
