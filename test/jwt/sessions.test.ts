// What a JWT may do to sessions: to the one it was made from, and to no other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';

const target = await startAppliance();
const refused = 'general_unauthorized_scope';

test('a JWT extends and ends its own session only', async () => {
  const person = await aLoggedInUser(target);
  (await person.client.delete('/account/sessions')).expect(204);
  const { client: key } = await aServerKey(target);
  const withoutSession = createClient(target, {
    jwt: (await key.post(`/users/${person.id}/jwts`, {})).expect(201).string('jwt'),
  });
  const own = await logIn(target, person);
  const other = await logIn(target, person);
  const jwt = (await own.client.post('/account/jwts', {})).expect(201).string('jwt');
  const bearer = createClient(target, { jwt });
  for (const client of [bearer, withoutSession]) {
    for (const [method, path] of [
      ['PATCH', `/account/sessions/${other.sessionId}`],
      ['DELETE', `/account/sessions/${other.sessionId}`],
      ['DELETE', '/account/sessions'],
    ] as const) {
      const { value, recorded } = await recordedBy(target, () => client.request(method, path));
      value.refused(401, refused);
      assert.deepEqual(recorded, nothing);
    }
  }
  (await withoutSession.patch(`/account/sessions/${own.sessionId}`)).refused(401, refused);
  (await bearer.patch(`/account/sessions/${own.sessionId}`)).expect(200);
  (await bearer.delete(`/account/sessions/${own.sessionId}`)).expect(204);
  (await bearer.get('/account')).refused(401, 'user_jwt_invalid');
  (await other.client.get('/account')).expect(200);
});
