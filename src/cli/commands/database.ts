import type { HandlerResult } from '#src/contract/operation.js';
import { databasesApi } from '#src/features/index.js';
import { type CommandCall, type CommandResult, projectCommand } from '../line/command.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import {
  confirmOption,
  enabledOption,
  idOption,
  nameArgument,
  newNameOption,
  onOrOff,
  requireChange,
} from '../line/options.js';
import { noteMore, wholeList } from '../line/page.js';
import { withRemovedTables } from '../line/removal.js';
import { columns, pairs } from '../terminal/table.js';

const idArgument = { name: 'ID', summary: 'id of the database', values: 'database' } as const;

const databaseOf = ({ args }: CommandCall) => ({ databaseId: args.argument('ID') });

const create = projectCommand({
  path: 'database create',
  summary: 'Creates a database, which holds collections',
  arguments: [nameArgument],
  options: [idOption, enabledOption],
  examples: [
    'svc database create Blog --project shop --id blog',
    'svc database create "Old blog" --project shop --id old-blog --enabled off --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = {
      databaseId: args.text('--id') ?? 'unique()',
      name: args.argument('NAME'),
      ...onOrOff(args, enabledOption),
    };
    const made = await invokeAsOperator(call, databasesApi.create, { body });
    const next = `svc collection create NAME --project ${args.required('--project')} --database ${made.$id}`;
    return { ...shown(made), next };
  },
});

const list = projectCommand({
  path: 'database list',
  summary: 'Lists the databases of a project',
  examples: ['svc database list --project shop', 'svc database list --project shop --json'],
  run: async (call) => {
    const value = await invokeAsOperator(call, databasesApi.list, { query: wholeList });
    noteMore(call, value.databases.length, value.total);
    const rows = value.databases.map((one) => [one.$id, one.name, one.enabled ? 'on' : 'off', one.$createdAt]);
    return { value, text: columns(['ID', 'NAME', 'ENABLED', 'CREATED'], rows) };
  },
});

const show = projectCommand({
  path: 'database show',
  summary: 'Shows a database',
  arguments: [idArgument],
  examples: ['svc database show blog --project shop', 'svc database show blog --project shop --json'],
  run: async (call) => shown(await invokeAsOperator(call, databasesApi.get, { params: databaseOf(call) })),
});

const update = projectCommand({
  path: 'database update',
  summary: 'Changes the name of a database, or enables or disables it',
  arguments: [idArgument],
  options: [newNameOption, enabledOption],
  examples: [
    'svc database update blog --project shop --name "The blog"',
    'svc database update old-blog --project shop --enabled on --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = { name: args.text('--name'), ...onOrOff(args, enabledOption) };
    requireChange(body, 'give --name NAME or --enabled on|off');
    return shown(await invokeAsOperator(call, databasesApi.update, { params: databaseOf(call), body }));
  },
});

const remove = projectCommand({
  path: 'database delete',
  summary: 'Deletes a database with all its collections and documents',
  arguments: [idArgument],
  options: [confirmOption('database')],
  examples: [
    'svc database create Trial --project shop --id trial && svc database delete trial --project shop --confirm trial',
    'svc database delete old-blog --project shop --confirm "Old blog" --json',
  ],
  run: async (call) => {
    const params = databaseOf(call);
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

function shown(database: HandlerResult<typeof databasesApi.get>): CommandResult {
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
