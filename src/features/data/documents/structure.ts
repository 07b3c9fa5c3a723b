import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { wordLimits } from '#src/contract/limits.js';
import { splitWords } from '#src/platform/word-splitter.js';
import {
  type Attribute,
  attributeTypes,
  type Collection,
  fulltextIndexes,
  InvalidValue,
  shownAttributes,
  toStored,
} from '../databases/index.js';
import type { StoredValues, Times } from './document.js';

const misfit = (message: string) =>
  new Failure('document_invalid_structure', { message: `Invalid document structure: ${message}` });

/** The stored values of a new document, defaults filled in. Throws Failure `document_invalid_structure` naming the attribute. */
export function newValues(collection: Collection, data: Readonly<Record<string, unknown>>): StoredValues {
  refuseUnknown(collection, data);
  return withWords(
    collection,
    new Map(collection.attributes.map((attribute) => [attribute.number, valueFor(attribute, given(data, attribute))])),
  );
}

/** The stored values of a change: only what is given. Throws Failure `document_invalid_structure` naming the attribute. */
export function changedValues(collection: Collection, data: Readonly<Record<string, unknown>>): StoredValues {
  refuseUnknown(collection, data);
  const changed = collection.attributes.filter((attribute) => given(data, attribute) !== undefined);
  return withWords(
    collection,
    new Map(changed.map((attribute) => [attribute.number, storedValue(attribute, given(data, attribute))])),
  );
}

/** The words of values that were split, by attribute number: they are split before the unit that writes them. */
const wordsOfValues = new WeakMap<StoredValues, Map<number, string>>();

/** The words of a value for a fulltext index, separated by spaces. Throws Failure `document_invalid_structure` where they are too many. */
export function joinedWords(attribute: Attribute, values: StoredValues): string {
  const before = wordsOfValues.get(values)?.get(attribute.number);
  if (before !== undefined) return before;
  const words = splitWords(String(values.get(attribute.number) ?? ''));
  if (words.length > wordLimits.words)
    throw misfit(`attribute "${attribute.key}" has more than ${wordLimits.words} different words.`);
  const joined = words.join(' ');
  const split = wordsOfValues.get(values) ?? new Map<number, string>();
  wordsOfValues.set(values, split.set(attribute.number, joined));
  return joined;
}

function withWords(collection: Collection, values: StoredValues): StoredValues {
  for (const { attribute } of fulltextIndexes(collection))
    if (values.has(attribute.number)) joinedWords(attribute, values);
  return values;
}

/** The times that a server key gives a document, such as one that it imports; those of others are dropped. Throws Failure `document_invalid_structure`. */
export function timesOf(actor: WireActor, data: Readonly<Record<string, unknown>>): Times {
  if (actor.kind !== 'key') return {};
  const [createdAt, updatedAt] = ['$createdAt', '$updatedAt'].map((name) => {
    const value = Object.hasOwn(data, name) ? (data[name] ?? undefined) : undefined;
    const stored = value === undefined ? undefined : attributeTypes.datetime.parse(value, {});
    if (stored instanceof InvalidValue) throw misfit(`"${name}" ${stored.reason}.`);
    return stored as string | undefined;
  });
  return { ...(createdAt === undefined ? {} : { createdAt }), ...(updatedAt === undefined ? {} : { updatedAt }) };
}

/** Characters of stored values: those that a document got by default included, about as many as it is printed in. */
export function charactersOf(values: StoredValues): number {
  let characters = 0;
  const add = (value: unknown) => {
    if (Array.isArray(value)) value.forEach(add);
    else characters += typeof value === 'string' ? value.length : String(value).length;
  };
  values.forEach(add);
  return characters;
}

/** The path of a document in the audit log. */
export function documentResource({ databaseId, id }: Collection, documentId: string): string {
  return `databases/${databaseId}/collections/${id}/documents/${documentId}`;
}

/** The keys of attributes, for what is recorded of a change. */
export function keysOf(collection: Collection, numbers: Iterable<number>): string[] {
  const changed = new Set(numbers);
  return shownAttributes(collection)
    .filter(({ number }) => changed.has(number))
    .map(({ key }) => key);
}

/** The member of an attribute; never one that every object inherits, such as `constructor`. */
function given(data: Readonly<Record<string, unknown>>, { key }: Attribute): unknown {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}

const keysByCollection = new WeakMap<Collection, ReadonlySet<string>>();

/** Members that begin with $ are the service's own; callers send them back as they got them, and they are dropped. */
function refuseUnknown(collection: Collection, data: Readonly<Record<string, unknown>>): void {
  const keys = keysByCollection.get(collection) ?? new Set(collection.attributes.map(({ key }) => key));
  keysByCollection.set(collection, keys);
  const unknown = Object.keys(data).find((key) => !keys.has(key) && !key.startsWith('$'));
  if (unknown !== undefined) throw misfit(`unknown attribute "${unknown.slice(0, 64)}".`);
}

function valueFor(attribute: Attribute, value: unknown): unknown {
  if (value !== undefined) return storedValue(attribute, value);
  if (attribute.required) throw misfit(`missing required attribute "${attribute.key}".`);
  return attribute.default;
}

function storedValue(attribute: Attribute, value: unknown): unknown {
  if (value === null) {
    if (attribute.required) throw misfit(`attribute "${attribute.key}" must not be null.`);
    return null;
  }
  const stored = toStored(attribute, value);
  if (stored instanceof InvalidValue) throw misfit(`attribute "${attribute.key}" ${stored.reason}.`);
  return stored;
}
