// What the log tells, and what it must never tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, aServerKey, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { exchangeBytes, requestText } from '../harness/socket.js';

const target = await startAppliance();
const lines = (): Record<string, unknown>[] =>
  target
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const lineOf = (requestId: string | null) =>
  lines().filter((line) => line.event === 'request' && line.requestId === requestId);

test('every request leaves one line with who, what, how and how long', async () => {
  const user = await aLoggedInUser(target);
  const key = await aServerKey(target);
  const cases = [
    [await user.client.get('/account'), 'account.get', `user:${user.id}`, undefined],
    [await user.client.get(`/account/sessions/${user.sessionId}`), 'account.getSession', `user:${user.id}`, undefined],
    [await key.client.get('/project/platforms'), 'platforms.list', `key:${key.id}`, undefined],
    [await createClient(target).get('/account'), 'account.get', 'guest', 'general_unauthorized_scope'],
    [await createClient(target).get('/nothing/at/all'), 'none', undefined, 'general_route_not_found'],
  ] as const;
  const paths: Readonly<Record<string, string>> = {
    'account.get': '/account',
    'account.getSession': '/account/sessions/:sessionId',
    'platforms.list': '/project/platforms',
  };
  for (const [answer, route, actor, type] of cases) {
    const [line, ...more] = lineOf(answer.headers.get('X-Request-Id'));
    assert.deepEqual(more, []);
    const { time, level, event, requestId, method, path, ms, project, ip, ...rest } = line ?? {};
    assert.deepEqual([level, event, method, ip], ['info', 'request', 'GET', '127.0.0.1']);
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.ok(requestId && typeof ms === 'number' && ms >= 0);
    const expected = { route, status: answer.status, ...(actor ? { actor } : {}), ...(type ? { type } : {}) };
    assert.deepEqual(rest, expected);
    assert.equal(path, answer.status === 404 ? undefined : paths[route]);
    assert.equal(project, route === 'none' ? undefined : target.project.id);
  }
});

test('a whole life leaves no secret, password, address or content in any line', async () => {
  const person = aPerson({ name: 'Unmistakable Name', password: 'unmistakable password' });
  const guest = createClient(target);
  (await guest.post('/account?token=unmistakable-query', signUpBody(person))).expect(201);
  const credentials = { email: person.email, password: person.password };
  const session = (await guest.post('/account/sessions/email', credentials)).expect(201).string('secret');
  const user = guest.with({ session });
  const browser = createClient(target, { browser: 'http://localhost:3000' });
  await browser.post('/account/sessions/email', credentials);
  await browser.get('/account');
  await browser.get('/account', { 'X-Fallback-Cookies': JSON.stringify({ svc_main: session }) });
  await guest.post('/account/sessions/email', { ...credentials, password: 'unmistakable guess' });
  await guest.post('/account', { ...signUpBody(person), email: 'unmistakable address' });
  await guest.post('/account', '{"unmistakable": broken');
  await guest.post('/account', signUpBody(person));
  await user.patch('/account/prefs', { prefs: { note: 'unmistakable preference' } });
  await user.patch('/account/name', { name: 'Unmistakable Other Name' });
  await user.patch('/account/email', { email: `unmistakable-${person.email}`, password: person.password });
  await user.patch('/account/password', { password: 'unmistakable new one', oldPassword: person.password });
  const key = await aServerKey(target);
  await key.client.get('/project/platforms');
  const token = 'eyJhbGciOiJIUzI1NiJ9.unmistakable.signature';
  await guest.with({ jwt: token }).get('/account');
  await guest.get('/account', { Authorization: `Bearer ${token}`, 'X-Service-Session': 'unmistakable-session' });
  await guest.get(`/account/sessions/${session}`);
  await guest.get(`/nothing/${session}/unmistakable-path`, { 'X-Request-Id': session });
  await exchangeBytes(target, requestText('GET', `/v1/${'unmistakable'.repeat(2000)}`));
  await user.delete('/account');

  const log = target.log();
  for (const value of ['nmistakable', person.email, session, session.split('.')[1] ?? '', key.secret, token])
    assert.ok(!log.includes(value), value);
});

test('callers cannot write lines of their own into the log', async () => {
  const forged = '{"event":"forged"}';
  const client = createClient(target);
  const answer = await client.get('/account', {
    'X-Request-Id': `a ${forged}`,
    'User-Agent': forged,
    'X-Forwarded-For': forged,
  });
  assert.equal(lineOf(answer.headers.get('X-Request-Id')).length, 1);
  await exchangeBytes(target, requestText('GET', '/v1/account%0a%0d{"event":"forged"}'));
  assert.ok(!lines().some(({ event }) => event === 'forged'));
  assert.ok(!target.log().includes('forged'));
});

test('the level and the form are settings', async () => {
  const quiet = await target.startSibling({ settings: { SVC_LOG_LEVEL: 'warn' } });
  await createClient(quiet).get('/account');
  assert.equal(quiet.log(), '');
  const pretty = await target.startSibling({ settings: { SVC_LOG_FORMAT: 'pretty' } });
  await createClient(pretty).get('/account');
  assert.match(pretty.log(), /^\d\d:\d\d:\d\d 401 GET {4}\/account [\d.]+ms \S+ guest general_unauthorized_scope$/m);
});
