// What a JWT opens, and what it does not: nothing that would change who the user is or how the user comes in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Declaration } from '#src/contract/declaration.js';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { aBearer } from './setup.js';

const target = await startAppliance();
const declarations: Declaration[] = target.appliance.features.operations
  .map(({ declaration }) => declaration)
  .filter(({ access: { auth, project } }) => auth.includes('user') && project === undefined);
const refused = declarations.filter(({ access: { jwt } }) => jwt === false);

/** Whatever of these is not refused has to be named here, with a reason. */
const isSensitive = ({ method, path, reply: { session } }: Declaration) =>
  session === 'opens' ||
  /\/(mfa|password|phone|email|status|anonymous|webauthn|recovery|verifications?)\b|^\/account\/tokens\b/.test(path) ||
  (method === 'DELETE' && path === '/account');

const formType = 'application/x-www-form-urlencoded';

test('whatever opens sessions or changes factors, password and addresses is not for JWTs', () => {
  const open = declarations.filter((one) => isSensitive(one) && one.access.jwt !== false).map(({ id }) => id);
  assert.deepEqual(open, []);
  const ids = refused.map(({ id }) => id);
  for (const id of ['createEmailSession', 'delete', 'updateEmail', 'updatePassword', 'updateStatus'])
    assert.ok(ids.includes(`account.${id}`), id);
});

test('each of them refuses a token before it looks at anything else, and nothing happens', async () => {
  const { bearer } = await aBearer(target);
  for (const { id, method, path, aliases = [], input: { form } = {} } of refused) {
    for (const one of [path, ...aliases]) {
      const concrete = one.replace(/:\w+/g, 'some-id');
      const { value, recorded } = await recordedBy(target, () =>
        form
          ? bearer.request(method, `${concrete}?project=main`, 'a=b', { 'Content-Type': formType })
          : bearer.request(method, concrete, method === 'GET' ? undefined : {}),
      );
      value.refused(401, 'general_unauthorized_scope');
      assert.match(value.string('message'), /known by a JWT/, id);
      assert.deepEqual(recorded, nothing);
    }
  }
});

test('the user of the account keeps everything: names, preferences, sessions by their ids', async () => {
  const { bearer, sessionId, id } = await aBearer(target);
  assert.equal((await bearer.get('/account')).expect(200).body.$id, id);
  (await bearer.patch('/account/name', { name: 'By token' })).expect(200);
  (await bearer.patch('/account/prefs', { prefs: { theme: 'dark' } })).expect(200);
  assert.deepEqual((await bearer.get('/account/prefs')).expect(200).body, { theme: 'dark' });
  const [session] = (await bearer.get('/account/sessions')).expect(200).list('sessions');
  assert.deepEqual([session?.$id, session?.current, session?.secret], [sessionId, false, '']);
  assert.equal((await bearer.get(`/account/sessions/${sessionId}`)).expect(200).body.current, false);
});

test('there is no current session for a token', async () => {
  const { bearer, client } = await aBearer(target);
  for (const method of ['GET', 'PATCH', 'DELETE'])
    (await bearer.request(method, '/account/sessions/current')).refused(404, 'user_session_not_found');
  (await client.get('/account/sessions/current')).expect(200);
});

test('documents know the user of a token as they know the user of the session', async () => {
  const { client: key } = await aServerKey(target);
  (await key.post('/databases', { databaseId: 'main', name: 'Main' })).expect(201);
  const collection = { collectionId: 'notes', name: 'Notes', permissions: ['create("users")'], documentSecurity: true };
  (await key.post('/databases/main/collections', collection)).expect(201);
  const documents = '/databases/main/collections/notes/documents';
  const [ada, bob] = [await aBearer(target), await aBearer(target, { alg: 'RS256' })];
  const { value, recorded } = await recordedBy(target, () =>
    ada.bearer.post(documents, { documentId: 'one', data: {} }),
  );
  assert.deepEqual(value.expect(201).body.$permissions, [
    ...['read', 'update', 'delete'].map((action) => `${action}("user:${ada.id}")`),
  ]);
  assert.deepEqual(recorded, { audit: ['documentCreated'], events: ['documentCreated'], messages: [] });
  const query = { query: '{ documentGet(databaseId: "main", collectionId: "notes", documentId: "one") { id } }' };
  for (const caller of [ada.bearer, ada.client]) {
    (await caller.get(`${documents}/one`)).expect(200);
    assert.deepEqual((await caller.post('/graphql', query)).expect(200).body, { data: { documentGet: { id: 'one' } } });
  }
  (await bob.bearer.get(`${documents}/one`)).refused(404, 'document_not_found');
});

test('the served description marks operations that accept a JWT', async () => {
  const document = (await createClient(target).get('/openapi.json')).expect(200).body;
  const { components, paths } = document as {
    components: { securitySchemes: Record<string, { name: string; in: string }> };
    paths: Record<string, Record<string, { security: Record<string, string[]>[] }>>;
  };
  assert.deepEqual(
    [components.securitySchemes.jwt?.name, components.securitySchemes.jwt?.in],
    ['x-service-jwt', 'header'],
  );
  assert.deepEqual(paths['/account']?.get?.security, [
    { project: [], session: [] },
    { project: [], jwt: [] },
  ]);
  assert.deepEqual(paths['/account']?.delete?.security, [{ project: [], session: [] }]);
  assert.deepEqual(paths['/projects/{projectId}/.well-known/jwks.json']?.get?.security, [{}]);
});
