// What the rules of permissions expect of each caller in a place, and the comparison with what is answered by the ways to documents.
import assert from 'node:assert/strict';
import type { Client } from '../harness/client.js';
import { type Action, allowed, allowsList, type Caller, type Place } from './callers.js';
import type { Calls, Outcome } from './calls.js';
import type { AttributeGiven, CollectionGiven, TestCollection } from './setup.js';

/** The attributes of the collections that are compared. */
export const attributes: Readonly<Record<string, AttributeGiven>> = { n: { type: 'integer' } };
/** What can be granted on a document. */
export const onDocument: readonly Action[] = ['read', 'update', 'delete'];

/** Expected and seen for one call. */
export type Check = readonly [what: string, seen: Outcome, expected: string, ids?: readonly string[]];
/** The ways to the documents of a collection, by their names. */
export type Ways = (made: TestCollection) => Readonly<Record<string, Calls>>;

/** What a caller is answered: `ok` where the action is allowed, else the given type. */
export function answerOf(caller: Caller, place: Place): (action: Action, otherwise: string) => string {
  return (action, otherwise) =>
    caller.scopeless ? 'general_unauthorized_scope' : allowed(caller, action, place) ? 'ok' : otherwise;
}

/** What a change of a document is refused with: what one may neither read nor change does not exist. */
export function refusalOf(caller: Caller, place: Place): string {
  return onDocument.some((action) => allowed(caller, action, place)) ? 'user_unauthorized' : 'document_not_found';
}

let fresh = 0;

/** Does everything there is as one caller and restores what was there. */
async function* everything(
  key: Client,
  calls: Calls,
  place: Place,
  caller: Caller,
  path: string,
): AsyncGenerator<Check> {
  const { client, scopeless } = caller;
  const may = answerOf(caller, place);
  const isStaged = calls.rollBack !== undefined;
  fresh += 1;
  const [id, put] = [`new-${fresh}`, `put-${fresh}`];
  const created = await calls.create(client, id, { n: 1 });
  yield ['create', created, may('create', 'user_unauthorized')];
  if (created.type === 'ok' && !isStaged) await key.delete(`${path}/documents/${id}`);

  yield ['get', await calls.get(client, 'one'), may('read', 'document_not_found')];
  const sees = may('read', '') === 'ok' ? ['one'] : [];
  const listed = scopeless ? 'general_unauthorized_scope' : allowsList(caller, place) ? 'ok' : 'user_unauthorized';
  yield ['list', await calls.list(client), listed, listed === 'ok' ? sees : []];
  const refused = refusalOf(caller, place);
  const nothing = scopeless ? 'general_unauthorized_scope' : 'document_not_found';
  yield ['update of none', await calls.update(client, 'none', { n: fresh }), nothing];
  yield ['delete of none', await calls.delete(client, 'none'), nothing];
  yield ['update', await calls.update(client, 'one', { n: fresh }), may('update', refused)];
  if (calls.upsert !== undefined) {
    const written = await calls.upsert(client, put, { n: 1 });
    yield ['upsert of none', written, may('create', 'user_unauthorized')];
    if (written.type === 'ok' && !isStaged) await key.delete(`${path}/documents/${put}`);
    // Whether there is a document is nothing to learn from it.
    yield ['upsert', await calls.upsert(client, 'one', { n: fresh }), may('update', 'user_unauthorized')];
  }
  if (calls.increment !== undefined) {
    yield ['increment of none', await calls.increment(client, 'none', 'n'), nothing];
    // A bound, of the attribute too, tells something of the value.
    const reads = may('update', refused) === 'ok' ? may('read', 'user_unauthorized') : may('update', refused);
    yield ['increment', await calls.increment(client, 'one', 'n'), reads];
    yield ['increment up to', await calls.increment(client, 'one', 'n', { max: 1e6 }), reads];
  }
  const deleted = await calls.delete(client, 'one');
  yield ['delete', deleted, may('delete', refused)];
  if (calls.rollBack !== undefined) await calls.rollBack(client);
  else if (deleted.type === 'ok') await addDocument(key, path, place);
}

/** Adds the document that everybody asks for. */
export async function addDocument(key: Client, path: string, { document }: Place): Promise<void> {
  const body = { documentId: 'one', data: { n: 0 }, permissions: document };
  (await key.post(`${path}/documents`, body)).expect(201);
}

/** Fails unless what is seen is what the rules say. */
export function compare([what, seen, expected, ids]: Check, caller: Caller, place: Place): void {
  const name = `${what} by ${caller.name} at ${JSON.stringify(place)}`;
  assert.equal(seen.type, expected, name);
  if (ids !== undefined) assert.deepEqual(seen.ids, ids, name);
  if (ids !== undefined && seen.type === 'ok') assert.equal(seen.total, ids.length, name);
}

interface Setting {
  readonly key: Client;
  readonly collection: (given: CollectionGiven) => Promise<TestCollection>;
}

/** Makes a place and compares every way with the rules, for every caller. */
export async function checkPlace(
  { key, collection }: Setting,
  callers: readonly Caller[],
  place: Place,
  ways: Ways,
): Promise<void> {
  const { collection: permissions, documentSecurity } = place;
  const made = await collection({ permissions, documentSecurity, attributes });
  await addDocument(key, made.path, place);
  for (const [way, calls] of Object.entries(ways(made)))
    for (const caller of callers) {
      // Guests begin no transactions.
      if (calls.rollBack !== undefined && caller.roles?.includes('guests')) continue;
      for await (const [what, ...check] of everything(key, calls, place, caller, made.path))
        compare([`${way} ${what}`, ...check], caller, place);
    }
}
