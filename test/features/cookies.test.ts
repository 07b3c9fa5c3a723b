// The session cookie, and the header that replaces it where browsers block it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { changeSettings } from '../harness/project.js';

const target = await startAppliance();
const path = '/account/sessions/email';
const monthSeconds = 30 * 86_400;

async function login(of: TestAppliance, client: Client = createClient(of), headers: Record<string, string> = {}) {
  const { email, password } = await aUser(of, {}, { project: client.project });
  const answer = (await client.post(path, { email, password }, headers)).expect(201);
  const [line = '', ...more] = answer.headers.getSetCookie();
  assert.deepEqual(more, []);
  const [pair = '', ...attributes] = line.split('; ');
  const age = attributes.find((attribute) => attribute.startsWith('Max-Age='))?.slice('Max-Age='.length);
  const rest = attributes.filter((attribute) => !attribute.startsWith('Max-Age=')).sort();
  return { answer, secret: answer.string('secret'), pair, rest, age: Number(age) };
}

test('over http the cookie is for this host, hidden from scripts, and lives as long as the session', async () => {
  const { pair, secret, rest, age } = await login(target);
  assert.equal(pair, `svc_main=${secret}`);
  assert.deepEqual(rest, ['HttpOnly', 'Path=/', 'SameSite=Lax']);
  assert.ok(age <= monthSeconds && age >= monthSeconds - 2, String(age));
});

test('over https it has the __Host- prefix and is Secure', async () => {
  const own = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1', SVC_SESSION_DAYS: '2' } });
  const first = await login(own);
  assert.equal(first.pair, `__Host-svc_main=${first.secret}`);
  assert.deepEqual(first.rest, ['HttpOnly', 'Path=/', 'SameSite=Lax', 'Secure']);
  assert.ok(first.age <= 2 * 86_400);
  const unprefixed = { Cookie: `svc_main=${first.secret}` };
  (await createClient(own).get('/account', unprefixed)).refused(401, 'general_unauthorized_scope');
  await changeSettings(own, { 'cookie.sameSite': 'none' });
  assert.deepEqual((await login(own)).rest, ['HttpOnly', 'Path=/', 'SameSite=None', 'Secure']);
});

test('over http it is Lax whatever the project says', async () => {
  const own = await startAppliance();
  await changeSettings(own, { 'cookie.sameSite': 'none' });
  assert.deepEqual((await login(own)).rest, ['HttpOnly', 'Path=/', 'SameSite=Lax']);
});

test('a browser keeps the sessions of two projects side by side', async () => {
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  const first = await login(target, browser);
  const neighbour = browser.with({ project: target.neighbour.id });
  const second = await login(target, neighbour);
  assert.equal(second.pair, `svc_neighbour=${second.secret}`);
  const cookie = { Cookie: `${first.pair}; ${second.pair}` };
  for (const client of [browser, neighbour]) (await client.with({}).get('/account', cookie)).expect(200);
});

test('the fallback header is sent only if a browser may block the cookie', async () => {
  const own = await startAppliance({ settings: { SVC_BASE_URL: 'http://localhost:8080/v1' } });
  const given = async (headers: Record<string, string>) => {
    const { answer, secret } = await login(own, createClient(own), headers);
    const fallback = answer.headers.get('X-Fallback-Cookies');
    assert.ok(
      fallback === null || fallback === JSON.stringify({ svc_main: secret, a_session_main: secret }),
      String(fallback),
    );
    return fallback !== null;
  };
  assert.equal(await given({}), true);
  assert.equal(await given({ Origin: 'http://127.0.0.1:3000' }), true);
  assert.equal(await given({ Origin: 'http://localhost:3000' }), false);
});

test('a browser that blocks the cookie stays logged in by the fallback header', async () => {
  const client = createClient(target, { headers: { Origin: 'http://127.0.0.1:3000' } });
  const { answer } = await login(target, client);
  const fallback = { 'X-Fallback-Cookies': answer.headers.get('X-Fallback-Cookies') ?? '' };
  (await client.get('/account', fallback)).expect(200);
  const gone = (await client.delete('/account/sessions/current', fallback)).expect(204);
  assert.equal(gone.headers.get('X-Fallback-Cookies'), '[]');
  (await client.get('/account', fallback)).refused(401, 'general_unauthorized_scope');
});

test('a fallback header of another project or of any other form is no session', async () => {
  const { secret } = await login(target);
  const values = [
    { svc_neighbour: secret },
    { svc_main: [secret] },
    [secret],
    secret,
    1,
    { svc_main: 'x'.repeat(5000) },
  ];
  for (const value of values) {
    const answer = await createClient(target).get('/account', { 'X-Fallback-Cookies': JSON.stringify(value) });
    answer.refused(401, 'general_unauthorized_scope');
  }
});
