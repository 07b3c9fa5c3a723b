import { isDeepStrictEqual } from 'node:util';
import { Failure } from '#src/contract/errors.js';
import type { Reader } from '#src/platform/db/unit.js';
import { parseJson } from '#src/platform/text/json.js';
import { type Collection, isToOne, type Relation, shownRelations, statedRelations } from '../../databases/index.js';
import type { GivenDocument } from '../access/service.js';
import type { StoredDocument } from '../model/document.js';
import { toDocument } from '../model/row.js';
import type { LinkStore } from '../relations/link-store.js';
import type { DocumentStore, NewDocument } from '../store/store.js';

/** A document to import, with its original times. */
export interface ImportedDocument extends GivenDocument {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

interface Deps {
  readonly db: Reader;
  readonly store: DocumentStore;
  readonly links: LinkStore;
}

/** Removes the relationships from the data of a document. */
export function withoutRelations(collection: Collection, given: ImportedDocument): ImportedDocument {
  const keys = new Set(shownRelations(collection).map(({ key }) => key));
  if (keys.size === 0) return given;
  return { ...given, data: Object.fromEntries(Object.entries(given.data ?? {}).filter(([key]) => !keys.has(key))) };
}

/** Reads the documents with these ids that exist, with all attributes. */
export async function presentDocuments(deps: Deps, collection: Collection, ids: readonly string[]) {
  const { db, store } = deps;
  const found = new Map<string, StoredDocument>();
  for (const row of await db.all(store.byIds(collection)(ids))) {
    const whole = row.data === null ? await db.one(store.one(collection, String(row.id), null)) : row;
    if (whole === undefined) continue;
    if (whole.data === null) throw new Failure('general_answer_too_large');
    found.set(String(row.id), toDocument(collection, whole));
  }
  return found;
}

/**
 * True if an existing document has the values, permissions and times of a new one. Relationships are not compared, and neither are attributes
 * that the source does not have.
 */
export function isSame(
  { store }: Pick<Deps, 'store'>,
  collection: Collection,
  present: StoredDocument,
  wanted: NewDocument,
  given: ImportedDocument,
): boolean {
  const { createdAt = present.createdAt, updatedAt = present.updatedAt } = wanted.times;
  if (createdAt !== present.createdAt || updatedAt !== present.updatedAt) return false;
  if (given.permissions !== undefined && !hasPermissions(present, wanted.permissions)) return false;
  const single = shownRelations(collection).filter(isToOne);
  const before = single.length === 0 ? {} : valuesOf(present.data);
  const values = new Map(wanted.values);
  for (const { number, key } of single) values.set(number, before[key] ?? null);
  const { data } = store.insertRow(collection, { ...wanted, values }, '').document;
  // The databases print some doubles in another way.
  if (data === present.data) return true;
  const keys = new Set(Object.keys(given.data ?? {}));
  const isLacking = (key: string) => !keys.has(key) && collection.attributes.some((one) => one.key === key);
  const compared = (text: string) => Object.entries(valuesOf(text)).filter(([key]) => !isLacking(key));
  return isDeepStrictEqual(Object.fromEntries(compared(data)), Object.fromEntries(compared(present.data)));
}

function valuesOf(data: string): Readonly<Record<string, unknown>> {
  return parseJson(`{${data}}`) as Record<string, unknown>;
}

/** True if a document has exactly these permissions, in any order. */
function hasPermissions({ permissions }: StoredDocument, wanted: readonly string[]): boolean {
  return permissions.length === wanted.length && wanted.every((one) => permissions.includes(one));
}

/**
 * Returns the relationships of documents that differ from the given ones, by id of the document. With `onlyEmpty`, relationships that have
 * documents already are left out.
 */
export async function differentRelations(
  deps: Deps,
  collection: Collection,
  given: readonly ImportedDocument[],
  onlyEmpty: boolean,
): Promise<Map<string, { data: Record<string, unknown>; isNew: boolean }>> {
  const different = new Map<string, { data: Record<string, unknown>; isNew: boolean }>();
  const ids = given.map(({ id }) => id);
  for (const relation of statedRelations(collection)) {
    const present = await linksOf(deps, relation, ids);
    for (const { id, data = {} } of given) {
      const value = data[relation.key];
      if (value === undefined) continue;
      const wanted = [value ?? []].flat();
      const before = present.get(id) ?? new Set();
      if (onlyEmpty && before.size > 0) continue;
      if (wanted.length === before.size && wanted.every((one) => before.has(one))) continue;
      const entry = different.get(id) ?? { data: {}, isNew: true };
      entry.data[relation.key] = value;
      entry.isNew &&= before.size === 0;
      different.set(id, entry);
    }
  }
  return different;
}

/** Reads the stated relationships of documents. */
export async function statedRelationsOf(
  deps: Pick<Deps, 'db' | 'links'>,
  collection: Collection,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const found = new Map<string, Record<string, unknown>>(ids.map((id) => [id, {}]));
  for (const relation of statedRelations(collection)) {
    const present = await linksOf(deps, relation, ids);
    for (const [id, data] of found) {
      const linked = [...(present.get(id) ?? [])];
      data[relation.key] = isToOne(relation) ? (linked[0] ?? null) : linked;
    }
  }
  return found;
}

async function linksOf({ db, links }: Pick<Deps, 'db' | 'links'>, relation: Relation, ids: readonly string[]) {
  const found = new Map<string, Set<unknown>>();
  for (const { owner, id } of await db.all(links.linksOf(relation, ids))) {
    const linked = found.get(String(owner)) ?? new Set();
    found.set(String(owner), linked.add(id));
  }
  return found;
}
