import { Failure } from '#src/contract/errors.js';
import { attributesApi, attributeTypes, newAttributesApi, relationsApi, typeNames } from '#src/features/index.js';
import { parseJson } from '#src/platform/text/json.js';
import { type ApplianceCall, type CommandResult, type ParsedArgs, projectCommand } from '../line/command.js';
import { commaList } from '../line/input.js';
import { invokeAsOperator } from '../line/invoke-as-operator.js';
import { inGroup } from '../line/options.js';
import { notFoundError, usageError } from '../terminal/exit.js';
import { pairs } from '../terminal/table.js';
import { type AttributeReply, attributeRow, collectionOf, databaseOption, indexedOf } from './collection-view.js';

const collectionArgument = { name: 'COLLECTION', summary: 'id of the collection', values: 'collection' } as const;
const types = typeNames.map((name) => ({ ...attributeTypes[name], create: newAttributesApi[name] }));
const typePaths = [...types.map(({ path }) => path), attributeTypes.relationship.path];
type Type = (typeof types)[number];

const addAttribute = projectCommand({
  path: 'collection add-attribute',
  summary: 'Adds an attribute to the documents of a collection. Running servers use it at the next request',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the attribute in documents' }],
  options: [
    databaseOption,
    { flag: '--type', value: 'TYPE', summary: 'type of the value', required: true, choices: typePaths },
    { flag: '--required', summary: 'every document must have a value' },
    { flag: '--array', summary: 'the attribute holds a list of values' },
    {
      flag: '--encrypt',
      summary: 'encrypt the values in the database; queries and indexes cannot name the attribute then',
    },
    { flag: '--default', value: 'VALUE', summary: 'value of new documents that do not set the attribute' },
    ...inGroup('Bounds', [
      { flag: '--size', value: 'N', summary: 'maximum number of characters of a string' },
      { flag: '--min', value: 'NUMBER', summary: 'minimum of a number' },
      { flag: '--max', value: 'NUMBER', summary: 'maximum of a number' },
      { flag: '--elements', value: 'LIST', summary: 'the values of an enum, separated by commas' },
    ]),
    ...inGroup('Relationships', [
      { flag: '--related', value: 'COLLECTION', summary: 'the collection of the related documents' },
      {
        flag: '--relation',
        value: 'RELATION',
        summary: 'how many documents of each collection are related',
        choices: relationsApi.create.input.body.shape.type.options,
      },
      { flag: '--two-way', value: 'KEY', summary: 'name of the relationship in related documents' },
      {
        flag: '--on-delete',
        value: 'RULE',
        summary: 'what becomes of related documents: restrict unless set',
        choices: relationsApi.create.input.body.shape.onDelete.unwrap().options,
      },
    ]),
  ],
  examples: [
    'svc collection add-attribute posts title --project shop --database blog --type string --size 200 --required',
    'svc collection add-attribute posts views --project shop --database blog --type integer --min 0 --default 0 --json',
    'svc collection add-attribute posts iban --project shop --database blog --type string --size 150 --encrypt',
    'svc collection add-attribute posts tags --project shop --database blog --type string --size 40 --array',
    'svc collection add-attribute posts replies --project shop --database blog --type relationship --related posts --relation oneToMany --two-way reply-to --on-delete cascade',
  ],
  run: async (call) => {
    const { args } = call;
    if (args.required('--type') === attributeTypes.relationship.path) return addRelationship(call);
    for (const option of ['related', 'relation', 'two-way', 'on-delete'] as const)
      if (args.isGiven(`--${option}`)) throw usageError(`--${option} needs --type relationship.`, 'leave it out');
    // `--type` only accepts these paths and the relationship.
    const type = types.find(({ path }) => path === args.required('--type')) as Type;
    for (const option of ['size', 'min', 'max', 'elements'] as const) {
      if (args.isGiven(`--${option}`) && !(option in type.options))
        throw usageError(`--${option} cannot be used with --type ${type.path}.`, 'leave it out');
    }
    if (args.isSet('--encrypt') && !type.canEncrypt)
      throw usageError(`--encrypt cannot be used with --type ${type.path}.`, 'leave it out');
    const elements = args.text('--elements');
    const body = {
      key: args.argument('KEY'),
      required: args.isSet('--required'),
      array: args.isSet('--array'),
      encrypt: args.isSet('--encrypt') || undefined,
      default: typedValue(args, '--default', type.column),
      size: typedValue(args, '--size', 'integer'),
      min: typedValue(args, '--min', 'double'),
      max: typedValue(args, '--max', 'double'),
      elements: elements === undefined ? undefined : commaList(elements),
    };
    const params = collectionOf(call, 'COLLECTION');
    const added = await invokeAsOperator(call, type.create, { params, body });
    const { answerMaxBytes } = call.runtime.config;
    if (Number(added.size ?? 0) > answerMaxBytes)
      call.output.note(`A text has at most ${answerMaxBytes} bytes (SVC_ANSWER_MAX_BYTES), whatever its size allows.`);
    return shownAttribute(added);
  },
});

const removeAttribute = projectCommand({
  path: 'collection remove-attribute',
  summary: 'Removes an attribute and its values from all documents',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the attribute' }],
  options: [databaseOption],
  examples: [
    'svc collection remove-attribute posts tags --project shop --database blog --yes',
    'svc collection add-attribute posts spam --project shop --database blog --type boolean > /dev/null && svc collection remove-attribute posts spam --project shop --database blog --yes --json',
  ],
  run: async (call) => {
    const params = { ...collectionOf(call, 'COLLECTION'), key: call.args.argument('KEY') };
    const { key } = await invokeAsOperator(call, attributesApi.get, { params });
    await call.prompts.confirm(`Remove the attribute ${key} of ${params.collectionId} with its values?`);
    await invokeAsOperator(call, attributesApi.delete, { params });
    return { value: { key, removed: true }, text: `Attribute ${key} is removed.` };
  },
});

const addIndex = projectCommand({
  path: 'collection add-index',
  summary: 'Adds an index, which makes queries faster or keeps values unique',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the index' }],
  options: [
    databaseOption,
    {
      flag: '--type',
      value: 'TYPE',
      summary: 'unique refuses equal values, fulltext finds words',
      choices: ['key', 'unique', 'fulltext'],
    },
    {
      flag: '--attributes',
      value: 'LIST',
      summary: 'attribute keys separated by commas; KEY:desc sorts descending',
      required: true,
    },
  ],
  examples: [
    'svc collection add-index posts most-read --project shop --database blog --attributes views:desc,title',
    'svc collection add-index posts one-title --project shop --database blog --attributes title --type unique --json',
  ],
  run: async (call) => {
    const { args } = call;
    const body = {
      key: args.argument('KEY'),
      type: args.text('--type') ?? 'key',
      ...sortedAttributes(args.required('--attributes')),
    };
    const params = collectionOf(call, 'COLLECTION');
    const value = await invokeAsOperator(call, attributesApi.createIndex, { params, body });
    return {
      value,
      text: pairs([
        ['key', value.key],
        ['type', value.type],
        ['attributes', indexedOf(value)],
        ['status', value.status],
      ]),
    };
  },
});

const removeIndex = projectCommand({
  path: 'collection remove-index',
  summary: 'Removes an index. The documents do not change',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the index' }],
  options: [databaseOption],
  examples: [
    'svc collection remove-index posts most-read --project shop --database blog',
    'svc collection remove-index posts one-title --project shop --database blog --json',
  ],
  run: async (call) => {
    const key = call.args.argument('KEY');
    await invokeAsOperator(call, attributesApi.deleteIndex, { params: { ...collectionOf(call, 'COLLECTION'), key } });
    return { value: { key, removed: true }, text: `Index ${key} is removed.` };
  },
});

/** The commands `svc collection …` for attributes and indexes. */
export const collectionSchemaCommands = [addAttribute, removeAttribute, addIndex, removeIndex];

function shownAttribute(attribute: AttributeReply): CommandResult {
  const names = ['key', 'type', 'required', 'default', 'bounds'];
  return { value: attribute, text: pairs(attributeRow(attribute).map((cell, at) => [names[at] ?? '', cell])) };
}

async function addRelationship(call: ApplianceCall): Promise<CommandResult> {
  const { args } = call;
  const foreign = (
    ['--required', '--array', '--encrypt', '--default', '--size', '--min', '--max', '--elements'] as const
  ).find(args.isGiven);
  if (foreign !== undefined) throw usageError(`${foreign} cannot be used with --type relationship.`, 'leave it out');
  const missing = (['--related', '--relation'] as const).find((flag) => !args.isGiven(flag));
  if (missing !== undefined) throw usageError(`--type relationship needs ${missing}.`, `add ${missing}`);
  const twoWayKey = args.text('--two-way');
  const body = {
    key: args.argument('KEY'),
    relatedCollectionId: args.required('--related'),
    type: args.required('--relation'),
    ...(twoWayKey === undefined ? {} : { twoWay: true, twoWayKey }),
    onDelete: args.text('--on-delete'),
  };
  const params = collectionOf(call, 'COLLECTION');
  await requireRelated(call, params);
  return shownAttribute(await invokeAsOperator(call, relationsApi.create, { params, body }));
}

/** Parses `title` or `title:desc`, separated by commas. Keys contain no colons. */
function sortedAttributes(list: string) {
  const parts = commaList(list).map((part) => part.split(':'));
  const wrong = parts.find(([, order = 'asc', ...more]) => more.length > 0 || !/^(asc|desc)$/i.test(order));
  if (wrong !== undefined)
    throw usageError(
      `--attributes has ${wrong.join(':')}; the order after the colon is asc or desc.`,
      `write ${wrong[0]}:asc or ${wrong[0]}:desc`,
    );
  return {
    attributes: parts.map(([key = '']) => key),
    orders: parts.map(([, order]) => (/^desc$/i.test(order ?? '') ? 'DESC' : 'ASC')),
  };
}

/** Throws if the related collection does not exist. The message of the API does not state which of the two is missing. */
async function requireRelated(call: ApplianceCall, { databaseId }: { readonly databaseId: string }): Promise<void> {
  const { args, features, runtime } = call;
  const [projectId, collectionId] = [args.required('--project'), args.required('--related')];
  // Checks the collection itself first, so that its absence is reported correctly.
  const own = { projectId, databaseId, collectionId: args.argument('COLLECTION') };
  await features.databases.getCollection(runtime.db, own);
  await features.databases.getCollection(runtime.db, { ...own, collectionId }).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.type !== 'collection_not_found') throw error;
    const next = `svc collection list --project ${projectId} --database ${databaseId}`;
    throw notFoundError(error.type, `There is no collection ${collectionId} to relate to.`, next);
  });
}

function typedValue(args: ParsedArgs, flag: `--${string}`, kind: Type['column']): unknown {
  const text = args.text(flag);
  if (text === undefined || kind === 'text') return text;
  if (kind === 'boolean' ? /^(true|false)$/.test(text) : /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return parseJson(text);
  throw usageError(`${flag} must be ${kind === 'boolean' ? 'true or false' : 'a number'}; it is ${text}.`);
}
