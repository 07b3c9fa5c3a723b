import { Failure } from '#src/contract/errors.js';
import { toWireInstant } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Collection } from '../databases/index.js';
import type { DocumentStore } from './store.js';

/** A statement was made for a schema that is no longer the collection's. */
export class SchemaChanged extends Error {
  constructor(message = 'the schema of a collection has changed') {
    super(message);
    this.name = 'SchemaChanged';
  }
}

/** A document was related to others while a unit waited for locks: it begins anew, as after a change of the schema. */
export class LinksChanged extends SchemaChanged {
  constructor() {
    super('the links of a document have changed');
    this.name = 'LinksChanged';
  }
}

/** Throws SchemaChanged where a row was read at another version of the schema. */
export function demandCurrent(collection: Collection, version: unknown): void {
  if (Number(version) !== collection.version) throw new SchemaChanged();
}

/** Why nothing was changed: the schema is another one now, or the document is not there. */
export async function absent(
  unit: Unit,
  store: DocumentStore,
  collection: Collection,
): Promise<Failure | SchemaChanged> {
  const row = await unit.one(store.version(collection));
  return Number(row?.version) === collection.version ? new Failure('document_not_found') : new SchemaChanged();
}

/** Why nothing was written: the schema is another one now, or the id or another unique value is taken. */
export async function conflict(
  unit: Unit,
  store: DocumentStore,
  collection: Collection,
  id: string,
): Promise<Failure | SchemaChanged> {
  const failure = await absent(unit, store, collection);
  if (failure instanceof SchemaChanged) return failure;
  const taken = (await unit.one(store.exists(collection, id))) !== undefined;
  return new Failure(taken ? 'document_already_exists' : 'document_unique_constraint_violation');
}

/** Runs a change of values; what indexes refuse becomes a refusal. */
export async function mapConstraintErrors<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'unique')
      throw new Failure('document_unique_constraint_violation');
    if (error instanceof DatabaseError && error.kind === 'tooLong')
      throw new Failure('document_invalid_structure', {
        message: 'Invalid document structure: a value is too long for an index.',
      });
    // A number beyond what Postgres stores.
    if (error instanceof DatabaseError && error.code === '22003') throw new Failure('attribute_limit_exceeded');
    throw error;
  }
}

/** The refusal of a number that would leave its bounds. */
export function outOfBounds(): Failure {
  return new Failure('attribute_limit_exceeded', {
    message: 'The new value would be out of the bounds of the attribute or of the request.',
  });
}

/** Documents keep their times in the form of the wire, in which they are printed. */
export function wireNow({ now }: Unit): string {
  return toWireInstant(now);
}
