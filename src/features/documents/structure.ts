import { Failure } from '#src/contract/errors.js';
import { type Attribute, type Collection, Misfit, toStored } from '../databases/index.js';
import type { StoredValues } from './store.js';

const misfit = (message: string) =>
  new Failure('document_invalid_structure', { message: `Invalid document structure: ${message}` });

/** The stored values of a new document, defaults filled in. Throws Failure `document_invalid_structure` naming the attribute. */
export function newValues(collection: Collection, data: Readonly<Record<string, unknown>>): StoredValues {
  refuseUnknown(collection, data);
  return new Map(
    collection.attributes.map((attribute) => [attribute.number, valueFor(attribute, data[attribute.key])]),
  );
}

/** The stored values of a change: only what is given. Throws Failure `document_invalid_structure` naming the attribute. */
export function changedValues(collection: Collection, data: Readonly<Record<string, unknown>>): StoredValues {
  refuseUnknown(collection, data);
  const changed = collection.attributes.filter(({ key }) => data[key] !== undefined);
  return new Map(changed.map((attribute) => [attribute.number, storedValue(attribute, data[attribute.key])]));
}

/** Members that begin with $ are the service's own; callers send them back as they got them, and they are dropped. */
function refuseUnknown(collection: Collection, data: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(data).find(
    (key) => !key.startsWith('$') && !collection.attributes.some((attribute) => attribute.key === key),
  );
  if (unknown !== undefined) throw misfit(`unknown attribute "${unknown.slice(0, 64)}".`);
}

function valueFor(attribute: Attribute, given: unknown): unknown {
  if (given !== undefined) return storedValue(attribute, given);
  if (attribute.required) throw misfit(`missing required attribute "${attribute.key}".`);
  return attribute.default;
}

function storedValue(attribute: Attribute, given: unknown): unknown {
  if (given === null) {
    if (attribute.required) throw misfit(`attribute "${attribute.key}" must not be null.`);
    return null;
  }
  const stored = toStored(attribute, given);
  if (stored instanceof Misfit) throw misfit(`attribute "${attribute.key}" ${stored.reason}.`);
  return stored;
}
