// The first mistakes with permissions: a wrong text is answered with the right one, and a refusal is explained in the server's log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection } = await aBackend(target);
const guest = createClient(target);
const user = await aLoggedInUser(target);

/** [what was sent, the permission that was meant] */
const mistakes: [string, string | undefined][] = [
  ['read("role:all")', 'read("any")'],
  ['read("role:member")', 'read("users")'],
  ['read("*")', 'read("any")'],
  ["read('any')", 'read("any")'],
  ['read(any)', 'read("any")'],
  ['any', 'read("any")'],
  ['reed("any")', 'read("any")'],
  ['edit("users")', 'update("users")'],
  ['READ("Any")', 'read("any")'],
  ['read:any', 'read("any")'],
  ['read("user")', 'read("users")'],
  ['read("guest")', 'read("guests")'],
  ['update("users:verified")', 'update("users/verified")'],
  ['update("teams:crew")', 'update("team:crew")'],
  ['update("team:crew:owner")', 'update("team:crew/owner")'],
  ['create("labels:gold")', 'create("label:gold")'],
  ['read("user:")', undefined],
  ['', undefined],
  ['x'.repeat(300), undefined],
];
for (const [given, meant] of mistakes) {
  test(`the permission ${given.slice(0, 30)} is refused with the roles${meant === undefined ? '' : ` and ${meant}`}`, async () => {
    const id = { collectionId: 'unique()', name: 'Posts', permissions: [given] };
    const answer = await key.post(`/databases/none/collections`, id);
    const { message } = answer.refused(400, 'general_argument_invalid').body;
    assert.match(
      String(message),
      /roles are any, guests, users, user:ID, team:ID, team:ID\/ROLE, member:ID and label:NAME\./,
    );
    assert.equal(/Did you mean (.*)\?$/.exec(String(message))?.[1], meant, String(message));
  });
}

/** The permission that the last line of the log names. */
const missing = (): unknown => {
  const lines = target
    .log()
    .split('\n')
    .filter((line) => line.includes('"event":"request"'));
  return JSON.parse(lines.at(-1) ?? '{}').missing;
};

test('the log names the permission that a refused caller of documents lacks', async () => {
  const read = await collection({ permissions: ['read("any")'], documentSecurity: true });
  const place = `databases/${read.databaseId}/collections/${read.id}`;
  (await key.post(read.documents, { documentId: 'a', data: {} })).expect(201);
  (await user.client.post(read.documents, { documentId: 'b', data: {} })).refused(401, 'user_unauthorized');
  assert.equal(missing(), `create("user:${user.id}") on ${place}`);
  (await user.client.patch(`${read.documents}/a`, { data: {} })).refused(401, 'user_unauthorized');
  assert.equal(missing(), `update("user:${user.id}") on ${place} or its item a`);
  (await guest.delete(`${read.documents}/a`)).refused(401, 'user_unauthorized');
  assert.equal(missing(), `delete("guests") on ${place} or its item a`);
  const closed = await collection();
  (await guest.get(closed.documents)).refused(401, 'user_unauthorized');
  assert.equal(missing(), `read("guests") on databases/${closed.databaseId}/collections/${closed.id}`);
  (await key.get(closed.documents)).expect(200);
  assert.equal(missing(), undefined);
});

test('the log names the permission that a refused caller of files lacks', async () => {
  const bucket = { bucketId: 'photos', name: 'Photos', permissions: ['create("guests")'], fileSecurity: false };
  (await key.post('/storage/buckets', bucket)).expect(201);
  (await guest.get('/storage/buckets/photos/files')).refused(401, 'user_unauthorized');
  assert.equal(missing(), 'read("guests") on storage/buckets/photos');
});
