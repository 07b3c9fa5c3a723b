import { databasesApi } from '#src/features/index.js';
import { type ApplianceCall, command, projectOption } from '../command.js';
import { usageError } from '../exit.js';
import { onOrOff, switchOption } from '../input.js';
import { operate } from '../operate.js';
import { columns } from '../output.js';
import { collectionOf, databaseOption, shownCollection } from './collection-view.js';

const idArgument = { name: 'ID', summary: 'id of the collection' } as const;
const permission = {
  flag: '--permission',
  value: 'PERMISSION',
  summary: `such as 'read("users")' or 'write("user:ID")', repeatable; none takes all away`,
  repeated: true,
} as const;
const security = switchOption('--document-security', 'on: documents have permissions of their own (default: off)');
const enabled = switchOption('--enabled', 'off: it exists for server keys only (default: on)');

const permissionsOf = ({ typed }: ApplianceCall) => {
  const given = typed.list('--permission');
  return given.length === 0 ? {} : { permissions: given.filter((one) => one !== 'none') };
};

const create = command({
  path: 'collection create',
  summary: 'Creates a collection of documents',
  arguments: [{ name: 'NAME', summary: 'what people call it' }],
  options: [
    projectOption,
    databaseOption,
    { flag: '--id', value: 'ID', summary: 'an id of your choice (default: a new one)' },
    permission,
    security,
    enabled,
  ],
  examples: [
    `svc collection create Posts --project shop --database blog --id posts --permission 'read("any")'`,
    'svc collection create Drafts --project shop --database blog --id drafts --document-security on --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const body = {
      collectionId: typed.text('--id') ?? 'unique()',
      name: typed.argument('NAME'),
      ...permissionsOf(call),
      ...onOrOff(typed, security),
      ...onOrOff(typed, enabled),
    };
    const params = { databaseId: typed.required('--database') };
    const made = await operate(call, databasesApi.createCollection, { params, body });
    const next = `svc collection add-attribute ${made.$id} KEY --project ${typed.required('--project')} --database ${made.databaseId} --type string --size 200`;
    return { ...shownCollection(made), next };
  },
});

const list = command({
  path: 'collection list',
  summary: 'Lists the collections of a database',
  options: [projectOption, databaseOption],
  examples: [
    'svc collection list --project shop --database blog',
    'svc collection list --project shop --database blog --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = { databaseId: call.typed.required('--database') };
    const value = await operate(call, databasesApi.listCollections, { params });
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

const show = command({
  path: 'collection show',
  summary: 'Shows a collection with its attributes and indexes',
  arguments: [idArgument],
  options: [projectOption, databaseOption],
  examples: [
    'svc collection show posts --project shop --database blog',
    'svc collection show posts --project shop --database blog --json',
  ],
  needs: 'appliance',
  run: async (call) =>
    shownCollection(await operate(call, databasesApi.getCollection, { params: collectionOf(call, 'ID') })),
});

const update = command({
  path: 'collection update',
  summary: 'Changes name, permissions, document security, or whether a collection is enabled',
  arguments: [idArgument],
  options: [
    projectOption,
    databaseOption,
    { flag: '--name', value: 'NAME', summary: 'another name' },
    permission,
    security,
    enabled,
  ],
  examples: [
    `svc collection update posts --project shop --database blog --permission 'read("users")' --permission 'create("users")'`,
    'svc collection update drafts --project shop --database blog --name "Old drafts" --enabled off --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const name = typed.text('--name');
    const body = {
      ...(name === undefined ? {} : { name }),
      ...permissionsOf(call),
      ...onOrOff(typed, security),
      ...onOrOff(typed, enabled),
    };
    if (Object.keys(body).length === 0)
      throw usageError('There is nothing to change.', 'give --name, --permission, --document-security or --enabled');
    return shownCollection(
      await operate(call, databasesApi.updateCollection, { params: collectionOf(call, 'ID'), body }),
    );
  },
});

const remove = command({
  path: 'collection delete',
  summary: 'Deletes a collection with all its documents',
  arguments: [idArgument],
  options: [
    projectOption,
    databaseOption,
    { flag: '--confirm', value: 'NAME', summary: 'id or name of the collection, instead of typing it when asked' },
  ],
  examples: [
    'svc collection delete drafts --project shop --database blog --confirm drafts',
    `svc collection create Trial --project shop --database blog --id trial > /dev/null && svc collection delete trial --project shop --database blog --confirm Trial --json`,
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = collectionOf(call, 'ID');
    const { $id, name } = await operate(call, databasesApi.getCollection, { params });
    const question = `This deletes the collection ${$id} (${name}) with all its documents, for good.`;
    await call.prompts.confirmByName(question, [$id, name], call.typed.text('--confirm'));
    await operate(call, databasesApi.deleteCollection, { params });
    return { value: { $id, deleted: true }, text: `Collection ${$id} is deleted.` };
  },
});

/** `svc collection …`, as far as the collection itself goes. */
export const collectionCommands = [create, list, show, update, remove];
