// The check against known breaches: what leaves the process, and what an answer or its absence means.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, aUser, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, runSql } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';

const receiver = await startReceiver();
const settings = {
  SVC_BREACH_CHECK: 'on',
  SVC_BREACH_URL: `${receiver.origin}/range/`,
  SVC_WEBHOOK_ALLOW_INSECURE: 'true',
};
const target = await startAppliance({ settings });
const strict = await target.startSibling({ settings: { ...settings, SVC_BREACH_CHECK: 'strict' } });
const guest = createClient(target);

const known = 'd\u00e9j\u00e0 expos\u00e9';
const unknown = 'never seen anywhere';
const sha1 = (text: string) => createHash('sha1').update(text.normalize('NFC')).digest('hex').toUpperCase();
/** The corpus knows one password; every list is padded with entries of count 0, as the real one is. */
const corpus: typeof receiver.answer = (response, { url = '' }) => {
  const padding = [`${'0'.repeat(35)}:0`, `${sha1(unknown).slice(5)}:0`, `${'F'.repeat(35)}:12`];
  const hit = sha1(known).startsWith(url.slice(-5)) ? [`${sha1(known).slice(5)}:42`] : [];
  response.end([...padding, ...hit].join('\r\n'));
};
function fresh() {
  receiver.answer = corpus;
  receiver.calls.length = 0;
}
const signUp = (password: string, client = guest) => client.post('/account', { ...signUpBody(aPerson()), password });
const violation = 'password_policy_violation';

test('exactly five characters of the hash leave the process, with the header that asks for padding', async () => {
  fresh();
  (await signUp(unknown)).expect(201);
  assert.deepEqual(
    receiver.calls.map(({ method, url }) => [method, url]),
    [['GET', `/range/${sha1(unknown).slice(0, 5)}`]],
  );
  const { host, connection, 'user-agent': agent, ...headers } = receiver.calls[0]?.headers ?? {};
  assert.deepEqual(headers, { 'add-padding': 'true' });
  assert.match(String(agent), /^svc\//);
});

test('a known password is refused on every way to set one', async () => {
  const ways: [string, () => ReturnType<typeof signUp>][] = [
    ['sign-up', () => signUp(known)],
    ['sign-up in another normal form', () => signUp(known.normalize('NFD'))],
    [
      'a change',
      async () => {
        const { client, password } = await aLoggedInUser(target);
        return client.patch('/account/password', { password: known, oldPassword: password });
      },
    ],
    [
      'the first one, with an address',
      async () => {
        const { client, id } = await aLoggedInUser(target);
        await runSql(target, 'update users set password_hash = null where id = ?', [id]);
        return client.patch('/account/email', { email: `${crypto.randomUUID()}@mail.example`, password: known });
      },
    ],
  ];
  for (const [name, way] of ways) {
    fresh();
    const answer = (await way()).refused(400, violation);
    assert.equal(receiver.calls.filter(({ url }) => url.endsWith(sha1(known).slice(0, 5))).length, 1, name);
    assert.ok(!answer.text.includes(known));
  }
  const { userChanges } = target.appliance.features;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'x' };
  const weak = { ...aPerson(), password: known, address: null };
  await assert.rejects(userChanges.signUp(by, target.project, weak), { type: violation });
});

test('the corpus is asked neither for a password that is refused anyway, nor at a login', async () => {
  fresh();
  for (const password of ['short', 'password', 'x'.repeat(257)]) (await signUp(password)).expect(400);
  assert.equal(receiver.calls.length, 0);
  const { email, password } = await aUser(target);
  fresh();
  (await guest.post('/account/sessions/email', { email, password })).expect(201);
  assert.equal(receiver.calls.length, 0);
});

const failures: [string, typeof receiver.answer][] = [
  ['answers 500', (response) => response.writeHead(500).end(`${sha1(unknown).slice(5)}:9`)],
  ['answers 429', (response) => response.writeHead(429).end()],
  ['sends elsewhere', (response) => response.writeHead(302, { Location: `${receiver.origin}/trap` }).end()],
  ['hangs up', (response) => response.destroy()],
  ['never answers', () => {}],
];
for (const [name, answer] of failures) {
  test(`a corpus that ${name} is logged for the operator, and blocks users only if configured to`, async () => {
    fresh();
    receiver.answer = answer;
    const lines = () => target.log().split('"breach-check.failed"').length;
    const before = lines();
    const started = performance.now();
    (await signUp(unknown)).expect(201);
    assert.ok(performance.now() - started < 6000);
    assert.equal(lines(), before + 1);
    const { value, recorded } = await recordedBy(strict, () => signUp(unknown, createClient(strict)));
    value.refused(503, 'general_unavailable');
    assert.equal(value.headers.get('Retry-After'), '5');
    assert.deepEqual(recorded, nothing);
    assert.ok(!receiver.calls.some(({ url }) => url === '/trap'));
    fresh();
    (await signUp(unknown, createClient(strict))).expect(201);
  });
}

test('the metrics tell how often the corpus was asked and how often in vain', async () => {
  const { text } = await guest.get('//metrics');
  assert.match(text, /svc_egress_requests_total\{purpose="breach-check",outcome="ok"\} \d/);
  assert.match(text, /svc_egress_requests_total\{purpose="breach-check",outcome="failed"\} \d/);
});

test('neither passwords nor their hashes are in the log', () => {
  for (const password of [known, unknown])
    for (const trace of [password, sha1(password), sha1(password).slice(5)]) assert.ok(!target.log().includes(trace));
});

test('a private corpus is not asked without leave, and none while the check is off', async () => {
  const guarded = await target.startSibling({ settings: { ...settings, SVC_WEBHOOK_ALLOW_INSECURE: 'false' } });
  const off = await target.startSibling({ settings: { ...settings, SVC_BREACH_CHECK: 'off' } });
  fresh();
  const connections = receiver.connections();
  (await signUp(known, createClient(guarded))).expect(201);
  (await signUp(known, createClient(off))).expect(201);
  assert.equal(receiver.connections(), connections);
  const { text } = await createClient(guarded).get('//metrics');
  assert.match(text, /svc_egress_requests_total\{purpose="breach-check",outcome="refused"\} 1/);
});
