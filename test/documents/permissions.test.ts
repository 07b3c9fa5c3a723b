// Who may do what with documents: every role, granted by the collection or by the document, over REST and GraphQL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { type Action, actions, allowed, allowsList, type Caller, crew, type Place, someCallers } from './callers.js';
import { type Calls, graphqlCalls, type Outcome, restCalls } from './calls.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const callers = await someCallers(target);
const { ada, eve, mia } = callers;

const roles = [
  ...['any', 'guests', 'users', 'users/verified', 'users/unverified', 'label:gold', 'label:silver', 'team:nobody'],
  ...[`user:${ada.name}`, `user:${ada.name}/unverified`, `user:${ada.name}/verified`, `user:${eve.name}/verified`],
  ...[`user:${eve.name}/unverified`, 'user:nobody', `team:${crew}`, `team:${crew}/cook`, `team:${crew}/night shift`],
  `team:${crew}/owner`,
  ...(mia.roles ?? []).filter((role) => role.startsWith('member:')),
];
const attributes = { n: { type: 'integer' } };
const all = (role: string, list: readonly Action[] = actions) => list.map((action) => `${action}("${role}")`);
const onDocument: readonly Action[] = ['read', 'update', 'delete'];
let fresh = 0;

type PlaceWithPath = Place & { readonly path: string };
/** Expected and seen for one call. */
type Check = readonly [what: string, seen: Outcome, expected: string, ids?: readonly string[]];

/** Does everything there is as one caller and restores what was there. */
async function* everything(calls: Calls, place: PlaceWithPath, caller: Caller): AsyncGenerator<Check> {
  const { client, scopeless } = caller;
  const may = (action: Action, otherwise: string) =>
    scopeless ? 'general_unauthorized_scope' : allowed(caller, action, place) ? 'ok' : otherwise;
  fresh += 1;
  const id = `new-${fresh}`;
  const created = await calls.create(client, id, { n: 1 });
  yield ['create', created, may('create', 'user_unauthorized')];
  if (created.type === 'ok') await key.delete(`${place.path}/documents/${id}`);

  yield ['get', await calls.get(client, 'one'), may('read', 'document_not_found')];
  const sees = may('read', '') === 'ok' ? ['one'] : [];
  const listed = scopeless ? 'general_unauthorized_scope' : allowsList(caller, place) ? 'ok' : 'user_unauthorized';
  yield ['list', await calls.list(client), listed, listed === 'ok' ? sees : []];
  // What one may neither read nor change does not exist.
  const refused = onDocument.some((action) => allowed(caller, action, place))
    ? 'user_unauthorized'
    : 'document_not_found';
  const nothing = scopeless ? 'general_unauthorized_scope' : 'document_not_found';
  yield ['update of none', await calls.update(client, 'none', { n: fresh }), nothing];
  yield ['delete of none', await calls.delete(client, 'none'), nothing];
  yield ['update', await calls.update(client, 'one', { n: fresh }), may('update', refused)];
  if (calls.upsert !== undefined) {
    const put = await calls.upsert(client, id, { n: 1 });
    yield ['upsert of none', put, may('create', 'user_unauthorized')];
    if (put.type === 'ok') await key.delete(`${place.path}/documents/${id}`);
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
  if (deleted.type === 'ok') await addDocument(place);
}

async function addDocument({ path, document }: PlaceWithPath): Promise<void> {
  const body = { documentId: 'one', data: { n: 0 }, permissions: document };
  (await key.post(`${path}/documents`, body)).expect(201);
}

async function checkPlace(place: Place): Promise<void> {
  const { collection, documentSecurity } = place;
  const made = await aCollection({ permissions: collection, documentSecurity, attributes });
  const withPath = { ...place, path: made.path };
  await addDocument(withPath);
  for (const [transport, calls] of Object.entries({ rest: restCalls(made), graphql: graphqlCalls(made) })) {
    for (const caller of Object.values(callers)) {
      for await (const [what, seen, expected, ids] of everything(calls, withPath, caller)) {
        const name = `${transport} ${what} by ${caller.name} at ${JSON.stringify(place)}`;
        assert.equal(seen.type, expected, name);
        if (ids !== undefined) assert.deepEqual(seen.ids, ids, name);
        if (ids !== undefined && seen.type === 'ok') assert.equal(seen.total, ids.length, name);
      }
    }
  }
}

for (const role of roles) {
  test(`what is granted to ${role}`, async () => {
    await checkPlace({ collection: all(role), documentSecurity: false, document: [] });
    await checkPlace({ collection: [], documentSecurity: true, document: all(role, onDocument) });
    await checkPlace({ collection: [], documentSecurity: false, document: all(role, onDocument) });
  });
}

test('each action is granted by itself', async () => {
  for (const action of actions)
    await checkPlace({ collection: all('any', [action]), documentSecurity: true, document: [] });
  for (const action of onDocument)
    await checkPlace({ collection: [], documentSecurity: true, document: all('any', [action]) });
  await checkPlace({ collection: all('users', ['read']), documentSecurity: true, document: all('guests', ['update']) });
});
