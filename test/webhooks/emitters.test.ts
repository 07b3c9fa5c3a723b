// Every way to an event that there is ends at the receiver, once, with what the service itself shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subscribableEvents } from '#src/contract/events.js';
import { graphqlCalls, restCalls } from '../documents/calls.js';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser, aServerKey, aUser, logIn } from '../harness/actors.js';
import { type Answer, createClient } from '../harness/client.js';
import { day } from '../harness/clock.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { asOperator, changeSettings } from '../harness/project.js';
import { type ReceivedCall, startReceiver } from '../harness/receiver.js';
import { aContact, askAndRead, sentLogins, withSms } from '../logins/setup.js';
import { createBrowser, endOf, startUrl } from '../oauth2/browser.js';
import { aSomebody } from '../oauth2/identity-provider.js';
import { aProvider } from '../oauth2/setup.js';
import { aKeyholder, logInBy } from '../passkeys/setup.js';
import { freshId } from '../saml/forge.js';
import { addForged, logIn as logInBySaml } from '../saml/setup.js';
import { aGuardedUser, aPendingClient } from '../second-factor/people.js';
import { aKey, aWebhook, bodyOf, called, startOpen } from './setup.js';

const target = await startOpen({ settings: withSms });
const idp = await aProvider(target);
await addForged(target, 'forged', { emailDomains: ['mail.example'] });
const key = await aKey(target);
const receiver = await startReceiver();
await aWebhook(key, receiver.origin);
const picky = await startReceiver();
await aWebhook(key, picky.origin, { events: ['sessionDeleted', 'documentDeleted'] });
const deaf = await startReceiver();
await aWebhook(key, deaf.origin, { enabled: false });
const foreign = await startReceiver();
await aWebhook(await aKey(target), foreign.origin, { events: ['fileCreated'] });

/** Every event that there was, when all of them are over. */
let all: readonly Record<string, unknown>[] = [];

const typesOf = (calls: readonly ReceivedCall[]) => calls.map((call) => String(bodyOf(call).type)).sort();

/** What an act announces, as receivers hear it. */
async function heard(act: () => Promise<unknown>): Promise<string[]> {
  const before = receiver.calls.length;
  const { recorded } = await recordedBy(target, act);
  const calls = (await called(receiver, before + recorded.events.length)).slice(before);
  assert.deepEqual(typesOf(calls), recorded.events);
  return recorded.events;
}

const browser = 'http://localhost:3000';
const sessions: [string, () => Promise<() => Promise<unknown>>, string[]][] = [
  [
    'a login',
    async () => {
      const user = await aUser(target);
      return () => logIn(target, user);
    },
    ['sessionCreated'],
  ],
  [
    'a login by the other path',
    async () => {
      const { email, password } = await aUser(target);
      return () => createClient(target).post('/account/sessions', { email, password });
    },
    ['sessionCreated'],
  ],
  [
    'a logout',
    async () => {
      const { client } = await aLoggedInUser(target);
      return () => client.delete('/account/sessions/current');
    },
    ['sessionDeleted'],
  ],
  [
    'a session ended by its id',
    async () => {
      const user = await aLoggedInUser(target);
      const { sessionId } = await logIn(target, user);
      return () => user.client.delete(`/account/sessions/${sessionId}`);
    },
    ['sessionDeleted'],
  ],
  [
    'all sessions ended',
    async () => {
      const user = await aLoggedInUser(target);
      await logIn(target, user);
      return () => user.client.delete('/account/sessions');
    },
    ['sessionDeleted', 'sessionDeleted'],
  ],
  [
    'a login in the same browser',
    async () => {
      const { email, password } = await aUser(target);
      const client = createClient(target, { browser });
      await client.post('/account/sessions/email', { email, password });
      return () => client.post('/account/sessions/email', { email, password });
    },
    ['sessionCreated', 'sessionDeleted'],
  ],
  [
    'one session too many',
    async () => {
      const user = await aLoggedInUser(target);
      await changeSettings(target, { 'session.limit': 1 });
      target.clock.advance(500);
      return async () => {
        await logIn(target, user);
        await changeSettings(target, { 'session.limit': 10 });
        target.clock.advance(500);
      };
    },
    ['sessionCreated', 'sessionDeleted'],
  ],
  [
    'a changed password',
    async () => {
      const user = await aLoggedInUser(target);
      await logIn(target, user);
      const change = { password: 'the new password', oldPassword: user.password };
      return () => user.client.patch('/account/password', change);
    },
    ['sessionDeleted'],
  ],
  [
    'a block',
    async () => {
      const { id } = await aLoggedInUser(target);
      return () => asOperator(target, id, 'block');
    },
    ['sessionDeleted'],
  ],
  [
    'a block by the user',
    async () => {
      const { client } = await aLoggedInUser(target);
      return () => client.patch('/account/status');
    },
    ['sessionDeleted'],
  ],
  [
    'a deleted account',
    async () => {
      const { client } = await aLoggedInUser(target);
      return () => client.delete('/account');
    },
    ['sessionDeleted'],
  ],
];
for (const [name, prepare, expected] of sessions) {
  test(`${name}: ${expected.join(', ')}`, async () => {
    let act = async (): Promise<unknown> => undefined;
    await heard(async () => {
      act = await prepare();
    });
    assert.deepEqual(await heard(() => act()), expected);
    for (const { body } of receiver.calls.slice(-expected.length)) {
      const { data } = bodyOf({ body }) as { data: { secret: string; userId: string } };
      assert.equal(data.secret, '');
      assert.ok(data.userId);
    }
  });
}

/** An act whose events are of the sessions of one user; where it makes the user, it tells who that is. */
interface OwnedAct {
  readonly owner?: string;
  readonly act: () => Promise<string | undefined>;
}

const guest = createClient(target);
const sessionIn = async (answer: Promise<Answer>): Promise<string> => (await answer).expect(201).string('userId');
const bySent = sentLogins.map((way): [string, () => Promise<OwnedAct>, string[]] => [
  `a login by ${way.name}`,
  async () => {
    const secret = await askAndRead(target, way, aContact(way.channel));
    return { act: () => sessionIn(guest.post('/account/sessions/token', secret)) };
  },
  ['sessionCreated'],
]);
const ownerOf = async (session: string) =>
  (await createClient(target, { session }).get('/account')).expect(200).string('$id');
const byKey = (
  name: string,
  act: (userId: string, sessionId: string) => Promise<Answer>,
): [string, () => Promise<OwnedAct>, string[]] => [
  name,
  async () => {
    const { id: owner, sessionId } = await aLoggedInUser(target);
    return { owner, act: async () => void (await act(owner, sessionId)) };
  },
  ['sessionDeleted'],
];
const owned: readonly [string, () => Promise<OwnedAct>, string[]][] = [
  [
    'an anonymous login',
    async () => ({ act: () => sessionIn(guest.post('/account/sessions/anonymous')) }),
    ['sessionCreated'],
  ],
  ...bySent,
  [
    'a login by OAuth2',
    async () => {
      idp.user = aSomebody();
      const browser = createBrowser(target);
      return {
        act: async () => {
          await browser.open(startUrl('sessions', 'corp'));
          return ownerOf(browser.cookie('svc_main') ?? '');
        },
      };
    },
    ['sessionCreated'],
  ],
  [
    'a login by the token of OAuth2',
    async () => {
      idp.user = aSomebody();
      const { query } = endOf(await createBrowser(target).open(startUrl('tokens', 'corp')));
      const token = { userId: query.get('userId'), secret: query.get('secret') };
      return { act: () => sessionIn(guest.post('/account/sessions/token', token)) };
    },
    ['sessionCreated'],
  ],
  [
    'a login by SAML',
    async () => ({
      act: async () => {
        const attributes = { email: [aContact('email')] };
        return ownerOf((await logInBySaml(target, 'forged', { nameId: freshId(), attributes })).session);
      },
    }),
    ['sessionCreated'],
  ],
  [
    'a login by a passkey',
    async () => {
      const { id: owner, device } = await aKeyholder(target);
      return { owner, act: async () => void (await logInBy(guest, device)).expect(201) };
    },
    ['sessionCreated'],
  ],
  [
    'a login that lacks the second factor, and its challenge',
    async () => {
      const user = await aGuardedUser(target);
      return {
        owner: user.id,
        act: async () => {
          const pending = await aPendingClient(target, user);
          const challenge = (await pending.post('/account/mfa/challenges', { factor: 'totp' })).expect(201);
          const answer = { challengeId: challenge.string('$id'), otp: user.app.nextCode() };
          (await pending.put('/account/mfa/challenges', answer)).expect(200);
          return undefined;
        },
      };
    },
    ['sessionCreated'],
  ],
  [
    'a login by a token of the users service',
    async () => {
      const { id: userId } = await aUser(target);
      const secret = (await key.post(`/users/${userId}/tokens`, {})).expect(201).string('secret');
      return { owner: userId, act: () => sessionIn(guest.post('/account/sessions/token', { userId, secret })) };
    },
    ['sessionCreated'],
  ],
  [
    'a session of the users service',
    async () => {
      const { id: owner } = await aUser(target);
      return { owner, act: () => sessionIn(key.post(`/users/${owner}/sessions`)) };
    },
    ['sessionCreated'],
  ],
  [
    'a recovery',
    async () => {
      const { id: owner, email } = await aLoggedInUser(target);
      const asked = await guest.post('/account/recovery', { email, url: `${browser}/recover` });
      const { userId, secret } = asked.expect(201).body;
      const body = { userId, secret, password: 'the recovered password' };
      return { owner, act: async () => void (await guest.put('/account/recovery', body)).expect(200) };
    },
    ['sessionDeleted'],
  ],
  byKey('a password set by a server key', (id) => key.patch(`/users/${id}/password`, { password: 'another password' })),
  byKey('a block by a server key', (id) => key.patch(`/users/${id}/status`, { status: false })),
  byKey('a session ended by a server key', (id, session) => key.delete(`/users/${id}/sessions/${session}`)),
  byKey('all sessions ended by a server key', (id) => key.delete(`/users/${id}/sessions`)),
  byKey('a user deleted by a server key', (id) => key.delete(`/users/${id}`)),
];
for (const [name, prepare, expected] of owned) {
  test(`${name}: ${expected.join(', ')}, of its user`, async () => {
    let prepared: OwnedAct = { act: async () => undefined };
    await heard(async () => {
      prepared = await prepare();
    });
    let owner: string | undefined;
    const announced = await heard(async () => {
      owner = (await prepared.act()) ?? prepared.owner;
    });
    assert.deepEqual(announced, expected);
    for (const call of receiver.calls.slice(-expected.length)) {
      const { userId, secret } = bodyOf(call).data as Record<string, unknown>;
      assert.deepEqual([userId, secret], [owner, '']);
    }
  });
}

test('events of a project go to its own webhooks, with its own numbers', async () => {
  const abroad = await startReceiver();
  const project = target.neighbour.id;
  await aWebhook((await aServerKey(target, { projectId: project })).client, abroad.origin);
  const before = receiver.calls.length;
  await aLoggedInUser(target, {}, { project });
  await aLoggedInUser(target);
  await called(receiver, before + 1);
  const [call, ...more] = await called(abroad, 1);
  assert.deepEqual(more, []);
  const { projectId, sequence } = bodyOf(call ?? { body: Buffer.from('{}') });
  assert.deepEqual([projectId, sequence], [project, 1]);
});

test('documents by REST and GraphQL', async () => {
  const { collection } = await aBackend(target);
  const some = await collection({ permissions: ['read("any")'], attributes: { n: { type: 'integer' } } });
  for (const calls of [restCalls(some), graphqlCalls(some)]) {
    const steps: [string, () => Promise<unknown>][] = [
      ['documentCreated', () => calls.create(key, 'one', { n: 1 })],
      ['documentUpdated', () => calls.update(key, 'one', { n: 2 })],
      ['documentDeleted', () => calls.delete(key, 'one')],
    ];
    for (const [event, act] of steps) {
      assert.deepEqual(await heard(act), [event]);
      const { data } = bodyOf(receiver.calls.at(-1) ?? { body: Buffer.from('{}') });
      const { $id, n, $collectionId } = data as Record<string, unknown>;
      assert.deepEqual([$id, n, $collectionId], ['one', event === 'documentCreated' ? 1 : 2, some.id]);
    }
  }
  const exact = '{"documentId":"big","data":{"n":9223372036854775807}}';
  await heard(() => key.post(some.documents, exact));
  assert.ok(receiver.calls.at(-1)?.body.toString().includes('"n":9223372036854775807'));
});

test('expired sessions: one sessionDeleted each, for their users; sessions ended by a block had theirs before', async () => {
  const sessions = (await rowsOf(target, 'sessions', target.project.id)).filter(({ ended_at }) => ended_at === null);
  assert.ok(sessions.length > 5);
  // A month later the job that removes old events may run at any time.
  const old = await rowsOf(target, 'events', target.project.id);
  target.clock.advance(31 * day);
  const announced = await heard(() => target.appliance.features.jobs.tick('sessions.expire'));
  assert.deepEqual(announced, Array(sessions.length).fill('sessionDeleted'));
  const owners = receiver.calls.slice(-sessions.length).map((call) => (bodyOf(call).data as { userId: string }).userId);
  assert.deepEqual(owners.sort(), sessions.map(({ user_id }) => String(user_id)).sort());
  const ids = new Set(old.map(({ id }) => id));
  all = [...old, ...(await rowsOf(target, 'events', target.project.id)).filter(({ id }) => !ids.has(id))];
});

test('in the end each webhook has its events, once, numbered without gaps', async () => {
  const numbersOf = (rows: readonly Record<string, unknown>[]) =>
    rows.map(({ sequence }) => Number(sequence)).sort((a, b) => a - b);
  assert.deepEqual(
    numbersOf(all),
    all.map((_, index) => index + 1),
  );
  // The feed has more than webhooks are sent.
  const events = all.filter(({ type }) => (subscribableEvents as readonly unknown[]).includes(type));
  assert.ok(events.length < all.length);
  assert.deepEqual(numbersOf(receiver.calls.map(bodyOf)), numbersOf(events));
  const seen = receiver.calls.map((call) => bodyOf(call).id).sort();
  assert.deepEqual(seen, events.map(({ id }) => id).sort());
  const deletions = events.filter(({ type }) => String(type).endsWith('Deleted'));
  await called(picky, deletions.length);
  assert.deepEqual(typesOf(picky.calls), deletions.map(({ type }) => String(type)).sort());
  assert.deepEqual([deaf.calls, foreign.calls], [[], []]);
});
