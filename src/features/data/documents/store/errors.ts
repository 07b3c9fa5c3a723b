import { Failure } from '#src/contract/errors.js';
import { toWireInstant } from '#src/contract/shapes.js';
import { indexNames } from '#src/platform/db/collection-ddl.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import { type Attribute, type Collection, type Index, indexedColumns, quoted } from '../../databases/index.js';
import type { StoredValues } from '../model/document.js';
import type { DocumentStore } from './store.js';

/** Error for a statement that was made for an outdated schema of the collection. */
export class SchemaChanged extends Error {
  constructor() {
    super('the schema of a collection has changed');
    this.name = 'SchemaChanged';
  }
}

/** Throws SchemaChanged if a row was read with another version of the schema. */
export function requireCurrent(collection: Collection, version: unknown): void {
  if (Number(version) !== collection.version) throw new SchemaChanged();
}

/** Finds out why nothing was changed: the schema has changed, or the document does not exist. */
export async function absent(
  unit: Reader,
  store: DocumentStore,
  collection: Collection,
): Promise<Failure | SchemaChanged> {
  const row = await unit.one(store.version(collection));
  return Number(row?.version) === collection.version ? new Failure('document_not_found') : new SchemaChanged();
}

/** Finds out why nothing was written: the schema has changed, or the id or another unique value is taken. */
export async function conflict(
  unit: Unit,
  store: DocumentStore,
  collection: Collection,
  { id, values }: { readonly id: string; readonly values: StoredValues },
): Promise<Failure | SchemaChanged> {
  const failure = await absent(unit, store, collection);
  if (failure instanceof SchemaChanged) return failure;
  if ((await unit.one(store.exists(collection, id))) !== undefined) return new Failure('document_already_exists');
  let mayBeTaken = false;
  for (const index of collection.indexes.filter(({ type }) => type === 'unique')) {
    const held = attributesOf(collection, index).map(({ number }) => values.get(number) ?? null);
    if (held.includes(null)) continue;
    mayBeTaken = true;
    // A document that was not written has no times to compare.
    if (held.length < index.attributes.length) continue;
    if ((await unit.one(store.holds(collection, attributesOf(collection, index), held))) !== undefined)
      return notUnique(index);
  }
  // The conflicting document is gone by now. Without values in a unique index, it had the same id.
  return mayBeTaken ? notUnique(undefined) : new Failure('document_already_exists');
}

/**
 * Runs a change of values. Maps errors of constraints to a Failure that names the index. `computed` are the attributes that the database
 * computes.
 */
export async function mapConstraintErrors<T>(
  collection: Collection,
  change: () => Promise<T>,
  computed: readonly number[] = [],
): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const index = collection.indexes.find((one) => isNamed(collection, one, error.index));
    if (error.kind === 'unique') throw notUnique(index);
    if (error.kind === 'tooLong')
      throw new Failure('document_invalid_structure', {
        message: ({ document }) =>
          `Invalid ${document} structure: a value is too long for ${index === undefined ? 'an index' : described(index)}.`,
      });
    // The number is out of the range of Postgres.
    if (error.code === '22003')
      throw outOfBounds(collection.attributes.find(({ number }) => computed.includes(number)));
    throw error;
  }
}

const attributesOf = ({ attributes }: Collection, index: Index): Attribute[] =>
  index.attributes.flatMap((key) => attributes.filter((one) => one.key === key));

function isNamed(collection: Collection, index: Index, name: string | undefined): boolean {
  const columns = indexedColumns(collection, index.attributes);
  return name !== undefined && indexNames(collection.number, index.number, columns).includes(name);
}

const described = ({ key, attributes }: Index): string => `the index "${key}" over ${quoted(attributes)}`;

function notUnique(index: Index | undefined): Failure {
  const type = 'document_unique_constraint_violation';
  if (index === undefined) return new Failure(type);
  return new Failure(type, { message: `These values are taken already in ${described(index)}, which is unique.` });
}

/** Error for a number out of its bounds. Names the attribute and the bounds of the schema. */
export function outOfBounds(attribute: Pick<Attribute, 'key' | 'min' | 'max'> | undefined): Failure {
  const { key, min, max } = attribute ?? {};
  const bounds = [...(min === undefined ? [] : [`min ${min}`]), ...(max === undefined ? [] : [`max ${max}`])];
  const ofWhich = key === undefined ? '' : ` of "${key}"`;
  const listed = bounds.length === 0 ? '' : ` (${bounds.join(', ')})`;
  return new Failure('attribute_limit_exceeded', {
    message: `The new value${ofWhich} would be out of its bounds${listed} or of those of the request.`,
  });
}

/** Returns the time of the unit in wire format, as documents store it. */
export function wireNow({ now }: Unit): string {
  return toWireInstant(now);
}
