import { attributesApi } from '#src/features/index.js';
import { parseJson } from '#src/platform/json.js';
import type { Answer } from '../answer.js';
import { command, projectOption, type Typed } from '../command.js';
import { usageError } from '../exit.js';
import { operate } from '../operate.js';
import { pairs } from '../output.js';
import { type Attribute, attributeRow, collectionOf, databaseOption } from './collection-view.js';

const collectionArgument = { name: 'COLLECTION', summary: 'id of the collection' } as const;
const types = {
  string: attributesApi.createString,
  integer: attributesApi.createInteger,
  float: attributesApi.createFloat,
  boolean: attributesApi.createBoolean,
  datetime: attributesApi.createDatetime,
  email: attributesApi.createEmail,
  url: attributesApi.createUrl,
  ip: attributesApi.createIp,
  enum: attributesApi.createEnum,
} as const;
type Type = keyof typeof types;
const bounds = 'Bounds';

const addAttribute = command({
  path: 'collection add-attribute',
  summary: 'Adds an attribute to the documents of a collection; running servers use it at the next request',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the attribute in documents' }],
  options: [
    projectOption,
    databaseOption,
    { flag: '--type', value: 'TYPE', summary: 'what it holds', required: true, choices: Object.keys(types) },
    { flag: '--required', summary: 'every document has it' },
    { flag: '--array', summary: 'a list of such values' },
    { flag: '--default', value: 'VALUE', summary: 'what a new document gets where it does not say' },
    { flag: '--size', value: 'N', summary: 'most characters of a string', group: bounds },
    { flag: '--min', value: 'NUMBER', summary: 'smallest number', group: bounds },
    { flag: '--max', value: 'NUMBER', summary: 'largest number', group: bounds },
    { flag: '--elements', value: 'LIST', summary: 'the values of an enum, separated by commas', group: bounds },
  ],
  examples: [
    'svc collection add-attribute posts title --project shop --database blog --type string --size 200 --required',
    'svc collection add-attribute posts views --project shop --database blog --type integer --min 0 --default 0 --json',
    'svc collection add-attribute posts tags --project shop --database blog --type string --size 40 --array',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const type = typed.required('--type') as Type;
    const isNumber = type === 'integer' || type === 'float';
    const given = {
      key: typed.argument('KEY'),
      required: typed.isSet('--required'),
      array: typed.isSet('--array'),
      default: typedValue(typed, '--default', isNumber ? 'number' : type === 'boolean' ? 'boolean' : 'text'),
      size: numberFor(typed, '--size', type === 'string'),
      min: numberFor(typed, '--min', isNumber),
      max: numberFor(typed, '--max', isNumber),
      elements: typed.text('--elements')?.split(','),
    };
    if (given.elements !== undefined && type !== 'enum') throw usageError('--elements is for the type enum.');
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const params = collectionOf(call, 'COLLECTION');
    return shownAttribute(await operate(call, types[type], { params, body }));
  },
});

const removeAttribute = command({
  path: 'collection remove-attribute',
  summary: 'Removes an attribute with its values in all documents',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the attribute' }],
  options: [projectOption, databaseOption],
  examples: [
    'svc collection remove-attribute posts tags --project shop --database blog --yes',
    'svc collection add-attribute posts spam --project shop --database blog --type boolean > /dev/null && svc collection remove-attribute posts spam --project shop --database blog --yes --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const params = { ...collectionOf(call, 'COLLECTION'), key: call.typed.argument('KEY') };
    const { key } = await operate(call, attributesApi.get, { params });
    await call.prompts.confirm(`Remove the attribute ${key} of ${params.collectionId} with its values?`);
    await operate(call, attributesApi.delete, { params });
    return { value: { key, removed: true }, text: `Attribute ${key} is removed.` };
  },
});

const addIndex = command({
  path: 'collection add-index',
  summary: 'Adds an index, for speed or to keep values unique',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the index' }],
  options: [
    projectOption,
    databaseOption,
    { flag: '--type', value: 'TYPE', summary: 'unique: no two documents agree in it', choices: ['key', 'unique'] },
    {
      flag: '--attributes',
      value: 'LIST',
      summary: 'keys separated by commas; :desc after a key for descending',
      required: true,
    },
  ],
  examples: [
    'svc collection add-index posts most-read --project shop --database blog --attributes views:desc,title',
    'svc collection add-index posts one-title --project shop --database blog --attributes title --type unique --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const { typed } = call;
    const parts = typed.required('--attributes').split(',');
    const body = {
      key: typed.argument('KEY'),
      type: typed.text('--type') ?? 'key',
      attributes: parts.map((part) => part.replace(/:(asc|desc)$/i, '')),
      orders: parts.map((part) => (/:desc$/i.test(part) ? 'DESC' : 'ASC')),
    };
    const value = await operate(call, attributesApi.createIndex, { params: collectionOf(call, 'COLLECTION'), body });
    return {
      value,
      text: pairs([
        ['key', value.key],
        ['type', value.type],
        ['attributes', value.attributes.join(', ')],
      ]),
    };
  },
});

const removeIndex = command({
  path: 'collection remove-index',
  summary: 'Removes an index; documents stay as they are',
  arguments: [collectionArgument, { name: 'KEY', summary: 'name of the index' }],
  options: [projectOption, databaseOption],
  examples: [
    'svc collection remove-index posts most-read --project shop --database blog',
    'svc collection remove-index posts one-title --project shop --database blog --json',
  ],
  needs: 'appliance',
  run: async (call) => {
    const key = call.typed.argument('KEY');
    await operate(call, attributesApi.deleteIndex, { params: { ...collectionOf(call, 'COLLECTION'), key } });
    return { value: { key, removed: true }, text: `Index ${key} is removed.` };
  },
});

/** `svc collection …`, as far as attributes and indexes go. */
export const collectionSchemaCommands = [addAttribute, removeAttribute, addIndex, removeIndex];

function shownAttribute(attribute: Attribute): Answer {
  const names = ['key', 'type', 'required', 'default', 'bounds'];
  return { value: attribute, text: pairs(attributeRow(attribute).map((cell, at) => [names[at] ?? '', cell])) };
}

function typedValue(typed: Typed, flag: `--${string}`, kind: 'number' | 'boolean' | 'text'): unknown {
  const text = typed.text(flag);
  if (text === undefined || kind === 'text') return text;
  if (kind === 'boolean' ? /^(true|false)$/.test(text) : /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return parseJson(text);
  throw usageError(`${flag} must be ${kind === 'boolean' ? 'true or false' : 'a number'}.`, 'correct the value');
}

function numberFor(typed: Typed, flag: `--${string}`, fits: boolean): unknown {
  if (typed.text(flag) !== undefined && !fits) throw usageError(`${flag} is not for this type.`, 'leave it out');
  return typedValue(typed, flag, 'number');
}
