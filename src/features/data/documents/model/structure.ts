import type { WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { wordLimits } from '#src/contract/limits.js';
import type { Wording } from '#src/contract/terms.js';
import { splitWords } from '#src/platform/text/word-splitter.js';
import {
  type Attribute,
  attributeTypes,
  type Collection,
  fulltextIndexes,
  InvalidValue,
  shownAttributes,
  toStored,
} from '../../databases/index.js';
import type { StoredValues, Times } from './document.js';

const misfit = (reason: Wording) =>
  new Failure('document_invalid_structure', {
    message: (terms) => `Invalid ${terms.document} structure: ${reason(terms)}`,
  });

/** Returns the stored values of a new document, including defaults. Throws Failure `document_invalid_structure` naming the attribute. */
export function newValues(collection: Collection, data: Readonly<Record<string, unknown>>): StoredValues {
  refuseUnknown(collection, data);
  return withWords(
    collection,
    new Map(collection.attributes.map((attribute) => [attribute.number, valueFor(attribute, given(data, attribute))])),
  );
}

/** Returns the stored values of a change: only given ones. Throws Failure `document_invalid_structure` naming the attribute. */
export function changedValues(collection: Collection, data: Readonly<Record<string, unknown>>): StoredValues {
  refuseUnknown(collection, data);
  const changed = collection.attributes.filter((attribute) => given(data, attribute) !== undefined);
  return withWords(
    collection,
    new Map(changed.map((attribute) => [attribute.number, storedValue(attribute, given(data, attribute))])),
  );
}

/** Words of values by attribute number. Values are split before the unit that writes them. */
const wordsOfValues = new WeakMap<StoredValues, Map<number, string>>();

/**
 * Returns the words of a value for a fulltext index, separated by spaces. Throws Failure `document_invalid_structure` if there are too
 * many.
 */
export function joinedWords(attribute: Attribute, values: StoredValues): string {
  const before = wordsOfValues.get(values)?.get(attribute.number);
  if (before !== undefined) return before;
  const words = splitWords(String(values.get(attribute.number) ?? ''));
  if (words.length > wordLimits.words)
    throw misfit((terms) => `${terms.attribute} "${attribute.key}" has more than ${wordLimits.words} different words.`);
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

/**
 * Returns the times that a server key gives a document, such as an imported one. Drops times from other callers. Throws Failure
 * `document_invalid_structure`.
 */
export function timesOf(actor: WireActor, data: Readonly<Record<string, unknown>>): Times {
  if (actor.kind !== 'key') return {};
  const [createdAt, updatedAt] = ['$createdAt', '$updatedAt'].map((name) => {
    const value = Object.hasOwn(data, name) ? (data[name] ?? undefined) : undefined;
    const stored = value === undefined ? undefined : attributeTypes.datetime.parse(value, {});
    if (stored instanceof InvalidValue) throw misfit(() => `"${name}" ${stored.reason}.`);
    return stored as string | undefined;
  });
  return { ...(createdAt === undefined ? {} : { createdAt }), ...(updatedAt === undefined ? {} : { updatedAt }) };
}

/** Counts the characters of stored values, including defaults: about the length of the printed document. */
export function charactersOf(values: StoredValues): number {
  let characters = 0;
  const add = (value: unknown) => {
    if (Array.isArray(value)) value.forEach(add);
    else characters += typeof value === 'string' ? value.length : String(value).length;
  };
  values.forEach(add);
  return characters;
}

/** Returns the path of a document in the audit log. */
export function documentResource({ databaseId, id }: Collection, documentId: string): string {
  return `databases/${databaseId}/collections/${id}/documents/${documentId}`;
}

/** Returns the keys of attributes for the record of a change. */
export function keysOf(collection: Collection, numbers: Iterable<number>): string[] {
  const changed = new Set(numbers);
  return shownAttributes(collection)
    .filter(({ number }) => changed.has(number))
    .map(({ key }) => key);
}

/** Reads the member of an attribute; ignores members that all objects inherit, such as `constructor`. */
function given(data: Readonly<Record<string, unknown>>, { key }: Attribute): unknown {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}

const keysByCollection = new WeakMap<Collection, ReadonlySet<string>>();

/** Throws for unknown members. Names that begin with $ belong to the service. Callers send them back, and they are dropped. */
function refuseUnknown(collection: Collection, data: Readonly<Record<string, unknown>>): void {
  const keys = keysByCollection.get(collection) ?? new Set(collection.attributes.map(({ key }) => key));
  keysByCollection.set(collection, keys);
  const unknown = Object.keys(data).find((key) => !keys.has(key) && !key.startsWith('$'));
  if (unknown !== undefined) throw misfit((terms) => `unknown ${terms.attribute} "${unknown.slice(0, 64)}".`);
}

function valueFor(attribute: Attribute, value: unknown): unknown {
  if (value !== undefined) return storedValue(attribute, value);
  if (attribute.required) throw misfit((terms) => `missing required ${terms.attribute} "${attribute.key}".`);
  return attribute.default;
}

function storedValue(attribute: Attribute, value: unknown): unknown {
  if (value === null) {
    if (attribute.required) throw misfit((terms) => `${terms.attribute} "${attribute.key}" must not be null.`);
    return null;
  }
  const stored = toStored(attribute, value);
  if (stored instanceof InvalidValue)
    throw misfit((terms) => `${terms.attribute} "${attribute.key}" ${stored.reason}.`);
  return stored;
}
