// An answer that opens a session sets a cookie: a foreign page must not be able to log a browser in (login CSRF).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Declaration } from '#src/contract/declaration.js';
import { aLoggedInUser, aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';

const target = await startAppliance();
const guest = createClient(target);
const key = await aServerKey(target);
const platform = { platformId: 'unique()', name: '', hostname: 'app.example.com' };
(await key.client.post('/project/platforms/web', platform)).expect(201);

const declarations = target.appliance.features.operations.map(({ declaration }) => declaration);
const opening = declarations.filter(({ reply: { session } }) => session === 'opens' || session === 'renews');
const pathOf = ({ path }: Declaration) => path.replace(/:\w+/g, 'some-id');

/** What a foreign page can make a browser send. */
const foreign: [string, Record<string, string>][] = [
  ['a foreign origin', { Origin: 'https://evil.example' }],
  ['no origin that can be named', { Origin: 'null' }],
  ['the word of the browser', { 'Sec-Fetch-Site': 'cross-site' }],
  ['both', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
  ['an origin of a platform over http', { Origin: 'http://app.example.com', 'Sec-Fetch-Site': 'same-site' }],
];
/** [body, media type]; a form without fields has no body at all. */
const bodies: [string | undefined, string][] = [
  [undefined, 'text/plain'],
  ['', 'application/x-www-form-urlencoded'],
  ['{}', 'application/json'],
  ['{}', 'text/plain'],
];
const refused: unknown = { status: 403, type: 'general_unknown_origin' };

test('the walk has something to walk', () => {
  const ids = opening.map(({ id }) => id).sort();
  for (const id of ['account.createAnonymousSession', 'account.createEmailSession'])
    assert.ok(ids.includes(id), ids.join());
});

for (const declaration of opening) {
  test(`${declaration.id} is refused to foreign pages before anything is done`, async () => {
    const { recorded } = await recordedBy(target, async () => {
      for (const [name, headers] of foreign) {
        for (const [body, type] of bodies) {
          // By the address, too: a form can send no header.
          for (const client of [guest, guest.with({ project: null })]) {
            const path = `${pathOf(declaration)}${client === guest ? '' : '?project=main'}`;
            const answer = await client.request(declaration.method, path, body, { ...headers, 'Content-Type': type });
            const { status, body: envelope } = answer;
            assert.deepEqual({ status, type: envelope.type }, refused, `${name} ${type} ${answer.text}`);
            assert.deepEqual(answer.headers.getSetCookie(), []);
          }
        }
      }
    });
    assert.deepEqual(recorded, nothing);
  });
  test(`${declaration.id} takes pages of platforms and callers that are no browsers`, async () => {
    const welcome: Record<string, string>[] = [
      {},
      { Origin: 'https://app.example.com', 'Sec-Fetch-Site': 'cross-site' },
      { Origin: 'http://localhost:3000' },
      { 'Sec-Fetch-Site': 'same-origin' },
      { 'Sec-Fetch-Site': 'none' },
    ];
    for (const headers of welcome) {
      const answer = await guest.request(declaration.method, pathOf(declaration), {}, headers);
      assert.notEqual(answer.body.type, 'general_unknown_origin', JSON.stringify(headers));
    }
  });
}

test('whatever answers a session to a browser declares that it opens one', () => {
  const sessionShape = declarations.find(({ id }) => id === 'account.createEmailSession')?.reply.shape;
  assert.equal(sessionShape?.kind, 'json');
  const answersSession = declarations.filter(
    ({ reply: { shape: reply }, method, access: { auth } }) =>
      reply.kind === 'json' &&
      reply.schema === sessionShape.schema &&
      method !== 'GET' &&
      (auth.includes('guest') || auth.includes('user')),
  );
  // An extended session has no secret in its answer.
  const silent = ['account.updateSession'];
  const undeclared = answersSession.filter(
    ({ id, reply: { session } }) => session === undefined && !silent.includes(id),
  );
  assert.deepEqual(
    undeclared.map(({ id }) => id),
    [],
  );
});

test('a logged-in browser keeps its session when a foreign page tries to log it in as another user', async () => {
  const victim = await aLoggedInUser(target);
  const { email, password } = await aUser(target);
  const headers = { Origin: 'https://evil.example', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ email, password });
  (await guest.request('POST', '/account/sessions/email?project=main', body, headers)).refused(
    403,
    'general_unknown_origin',
  );
  (await victim.client.get('/account')).expect(200);
});
