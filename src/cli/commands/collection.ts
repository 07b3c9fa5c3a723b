import { databasesApi } from '#src/features/index.js';
import { type ParsedArgs, projectCommand } from '../line/command.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import {
  confirmOption,
  enabledOption,
  idOption,
  listOrNone,
  nameArgument,
  newNameOption,
  onOrOff,
  requireChange,
  switchOption,
} from '../line/options.js';
import { noteMore, wholeList } from '../line/page.js';
import { withRemovedTables } from '../line/removal.js';
import { columns } from '../terminal/table.js';
import { collectionOf, databaseOption, shownCollection } from './collection-view.js';

const idArgument = { name: 'ID', summary: 'id of the collection', values: 'collection' } as const;
const permission = {
  flag: '--permission',
  value: 'PERMISSION',
  summary: `such as 'read("users")' or 'write("user:ID")'; repeatable; none removes all permissions`,
  repeated: true,
} as const;
const security = switchOption('--document-security', 'on gives each document its own permissions (default: off)');
const settings = [permission, security, enabledOption] as const;

/** Converts the flags to body members. */
const settingsOf = (args: ParsedArgs) => ({
  permissions: listOrNone(args, '--permission'),
  ...onOrOff(args, security),
  ...onOrOff(args, enabledOption),
});

const create = projectCommand({
  path: 'collection create',
  summary: 'Creates a collection of documents',
  arguments: [nameArgument],
  options: [databaseOption, idOption, ...settings],
  examples: [
    `svc collection create Posts --project shop --database blog --id posts --permission 'read("any")'`,
    'svc collection create Drafts --project shop --database blog --id drafts --document-security on --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = {
      collectionId: args.text('--id') ?? 'unique()',
      name: args.argument('NAME'),
      ...settingsOf(args),
    };
    const params = { databaseId: args.required('--database') };
    const made = await invokeAsOperator(call, databasesApi.createCollection, { params, body });
    const next = `svc collection add-attribute ${made.$id} KEY --project ${args.required('--project')} --database ${made.databaseId} --type string --size 200`;
    return { ...shownCollection(made), next };
  },
});

const list = projectCommand({
  path: 'collection list',
  summary: 'Lists the collections of a database',
  options: [databaseOption],
  examples: [
    'svc collection list --project shop --database blog',
    'svc collection list --project shop --database blog --json',
  ],
  run: async (call) => {
    const params = { databaseId: call.args.required('--database') };
    const value = await invokeAsOperator(call, databasesApi.listCollections, { params, query: wholeList });
    noteMore(call, value.collections.length, value.total);
    return {
      value,
      text: columns(
        ['ID', 'NAME', 'ENABLED', 'ATTRIBUTES', 'INDEXES'],
        value.collections.map((one) => [
          ...[one.$id, one.name, one.enabled ? 'on' : 'off'],
          ...[String(one.attributes.length), String(one.indexes.length)],
        ]),
      ),
    };
  },
});

const show = projectCommand({
  path: 'collection show',
  summary:
    'Shows a collection with its attributes and indexes, and its size. The size is counted, which can take up to 20 seconds',
  arguments: [idArgument],
  options: [databaseOption],
  examples: [
    'svc collection show posts --project shop --database blog',
    'svc collection show posts --project shop --database blog --json',
  ],
  run: async (call) => {
    const params = collectionOf(call, 'ID');
    const collection = await invokeAsOperator(call, databasesApi.getCollection, { params });
    const path = { projectId: call.args.required('--project'), ...params };
    return shownCollection(collection, await call.features.databases.sizeOf(call.runtime.db, path));
  },
});

const update = projectCommand({
  path: 'collection update',
  summary: 'Changes the name, permissions or document security of a collection, or enables or disables it',
  arguments: [idArgument],
  options: [databaseOption, newNameOption, ...settings],
  examples: [
    `svc collection update posts --project shop --database blog --permission 'read("users")' --permission 'create("users")'`,
    'svc collection update drafts --project shop --database blog --name "Old drafts" --enabled off --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = { name: args.text('--name'), ...settingsOf(args) };
    requireChange(body, 'give --name, --permission, --document-security or --enabled');
    const params = collectionOf(call, 'ID');
    return shownCollection(await invokeAsOperator(call, databasesApi.updateCollection, { params, body }));
  },
});

const remove = projectCommand({
  path: 'collection delete',
  summary: 'Deletes a collection with all its documents',
  arguments: [idArgument],
  options: [databaseOption, confirmOption('collection')],
  examples: [
    'svc collection delete drafts --project shop --database blog --confirm drafts',
    `svc collection create Trial --project shop --database blog --id trial > /dev/null && svc collection delete trial --project shop --database blog --confirm Trial --json`,
  ],
  run: async (call) => {
    const params = collectionOf(call, 'ID');
    const { collectionId: $id } = params;
    await withRemovedTables(call, async () => {
      const { name } = await invokeAsOperator(call, databasesApi.getCollection, { params });
      const question = `This deletes the collection ${$id} (${name}) with all its documents. It cannot be undone.`;
      await call.prompts.confirmByName(question, [$id, name], call.args.text('--confirm'));
      await invokeAsOperator(call, databasesApi.deleteCollection, { params });
    });
    return { value: { $id, deleted: true }, text: `Collection ${$id} is deleted.` };
  },
});

/** The commands `svc collection …` for collections themselves. */
export const collectionCommands = [create, list, show, update, remove];
