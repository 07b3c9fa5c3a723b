import { databasesApi } from '#src/features/index.js';
import { command, projectOption } from '../line/command.js';
import { onOrOff, switchOption } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { noteMore, wholeList } from '../line/page.js';
import { withRemovedTables } from '../line/removal.js';
import type { CommandResult } from '../terminal/command-result.js';
import { usageError } from '../terminal/exit.js';
import { columns, pairs } from '../terminal/table.js';

const idArgument = { name: 'ID', summary: 'id of the database', values: 'database' } as const;
const enabled = switchOption('--enabled', 'off hides it from everyone but server keys (default: on)');

const create = command({
  path: 'database create',
  summary: 'Creates a database, which holds collections',
  arguments: [{ name: 'NAME', summary: 'display name' }],
  options: [projectOption, { flag: '--id', value: 'ID', summary: 'id to use (default: a generated one)' }, enabled],
  examples: [
    'svc database create Blog --project shop --id blog',
    'svc database create "Old blog" --project shop --id old-blog --enabled off --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args } = call;
    const body = {
      databaseId: args.text('--id') ?? 'unique()',
      name: args.argument('NAME'),
      ...onOrOff(args, enabled),
    };
    const made = await invokeAsOperator(call, databasesApi.create, { body });
    const next = `svc collection create NAME --project ${args.required('--project')} --database ${made.$id}`;
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
    const value = await invokeAsOperator(call, databasesApi.list, { query: wholeList });
    noteMore(call, value.databases.length, value.total);
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
    shown(await invokeAsOperator(call, databasesApi.get, { params: { databaseId: call.args.argument('ID') } })),
});

const update = command({
  path: 'database update',
  summary: 'Changes the name of a database, or enables or disables it',
  arguments: [idArgument],
  options: [projectOption, { flag: '--name', value: 'NAME', summary: 'the new name' }, enabled],
  examples: [
    'svc database update blog --project shop --name "The blog"',
    'svc database update old-blog --project shop --enabled on --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { args } = call;
    const body = { name: args.text('--name'), ...onOrOff(args, enabled) };
    if (Object.values(body).every((value) => value === undefined))
      throw usageError('There is nothing to change.', 'give --name NAME or --enabled on|off');
    return shown(
      await invokeAsOperator(call, databasesApi.update, { params: { databaseId: args.argument('ID') }, body }),
    );
  },
});

const remove = command({
  path: 'database delete',
  summary: 'Deletes a database with all its collections and documents',
  arguments: [idArgument],
  options: [
    projectOption,
    { flag: '--confirm', value: 'NAME', summary: 'id or name of the database, to confirm without a prompt' },
  ],
  examples: [
    'svc database create Trial --project shop --id trial && svc database delete trial --project shop --confirm trial',
    'svc database delete old-blog --project shop --confirm "Old blog" --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = { databaseId: call.args.argument('ID') };
    const { databaseId: $id } = params;
    await withRemovedTables(call, async () => {
      const { name } = await invokeAsOperator(call, databasesApi.get, { params });
      const question = `This deletes the database ${$id} (${name}) with all its documents. It cannot be undone.`;
      await call.prompts.confirmByName(question, [$id, name], call.args.text('--confirm'));
      await invokeAsOperator(call, databasesApi.delete, { params });
    });
    return { value: { $id, deleted: true }, text: `Database ${$id} is deleted.` };
  },
});

/** `svc database …` */
export const databaseCommands = [create, list, show, update, remove];

function shown(database: { $id: string; name: string; enabled: boolean; $createdAt: string }): CommandResult {
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
