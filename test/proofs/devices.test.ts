// What a session knows of the browser that opened it, and what a new one makes the service say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aServerKey, aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { day } from '../harness/clock.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { changeSettings } from '../harness/project.js';

const target = await startAppliance();
const guest = createClient(target);

const webkit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const blink = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const agents = {
  chrome: `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/120.0.0.0 Safari/537.36`,
  edge: `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/120.0.0.0 Safari/537.36 Edg/120.0.0.0`,
  firefox: 'Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0',
  safari: `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/17.1 Safari/605.1.15`,
  iphone: `Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) ${webkit} Version/17.1 Mobile/15E148 Safari/604.1`,
  android: `Mozilla/5.0 (Linux; Android 13; Pixel 7) ${blink} Chrome/120.0.0.0 Mobile Safari/537.36`,
  samsung: `Mozilla/5.0 (Linux; Android 13; SM-S901B) ${blink} SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36`,
  newerChrome: `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/121.0.0.0 Safari/537.36`,
} as const;

const logIn = async (client: Client, { email, password }: { email: string; password: string }, headers = {}) =>
  (await client.post('/account/sessions/email', { email, password }, headers)).expect(201);

/** [user agent, osCode, osName, osVersion, clientType, clientCode, clientName, clientVersion, clientEngine, deviceName, deviceModel] */
const table: readonly (readonly string[])[] = [
  [agents.chrome, 'WIN', 'Windows', '10', 'browser', 'CH', 'Chrome', '120.0.0.0', 'Blink', 'desktop', ''],
  [agents.edge, 'WIN', 'Windows', '10', 'browser', 'PS', 'Microsoft Edge', '120.0.0.0', 'Blink', 'desktop', ''],
  [agents.firefox, 'LIN', 'Linux', '', 'browser', 'FF', 'Firefox', '121.0', 'Gecko', 'desktop', ''],
  [agents.safari, 'MAC', 'macOS', '10.15.7', 'browser', 'SF', 'Safari', '17.1', 'WebKit', 'desktop', ''],
  [agents.iphone, 'IOS', 'iOS', '17.1', 'browser', 'MF', 'Mobile Safari', '17.1', 'WebKit', 'smartphone', 'iPhone'],
  [agents.android, 'AND', 'Android', '13', 'browser', 'CM', 'Chrome Mobile', '120.0.0.0', 'Blink', 'smartphone', ''],
  [agents.samsung, 'AND', 'Android', '13', 'browser', 'SB', 'Samsung Browser', '23.0', 'Blink', 'smartphone', ''],
  ['curl/8.1.2', '', '', '', 'library', '', 'curl', '8.1.2', '', '', ''],
  ['node', '', '', '', 'library', '', 'node', '', '', '', ''],
  ['', '', '', '', '', '', '', '', '', '', ''],
  ['(((', '', '', '', '', '', '', '', '', '', ''],
  ['constructor', '', '', '', 'library', '', 'constructor', '', '', '', ''],
];
for (const [userAgent = '', ...expected] of table) {
  test(`a session of ${JSON.stringify(userAgent.slice(0, 60))} says ${expected.filter(Boolean).join(', ') || 'nothing'}`, async () => {
    const user = await aUser(target);
    const { body } = await logIn(guest, user, { 'User-Agent': userAgent });
    const names = [
      ...['osCode', 'osName', 'osVersion', 'clientType', 'clientCode', 'clientName', 'clientVersion'],
      ...['clientEngine', 'deviceName', 'deviceModel'],
    ];
    assert.deepEqual(
      names.map((name) => body[name]),
      expected,
    );
    const read = createClient(target, { session: String(body.secret) });
    const again = (await read.get('/account/sessions/current')).expect(200).body;
    assert.deepEqual(
      names.map((name) => again[name]),
      expected,
    );
  });
}

test('a user agent of many characters is no trouble', async () => {
  const user = await aUser(target);
  const started = performance.now();
  await logIn(guest, user, { 'User-Agent': `Mozilla/5.0 (${'a '.repeat(6000)}` });
  await logIn(guest, user, { 'User-Agent': 'x'.repeat(12_000) });
  assert.ok(performance.now() - started < 5000);
});

test("only a server key passes the browser's name on", async () => {
  const user = await aUser(target);
  const headers = { 'User-Agent': 'backend/1.0', 'X-Forwarded-User-Agent': agents.firefox };
  const { client } = await aServerKey(target);
  assert.equal((await logIn(client, user, headers)).body.clientCode, 'FF');
  assert.equal((await logIn(client, user, { 'User-Agent': 'backend/1.0' })).body.clientName, 'backend');
  assert.equal((await logIn(guest, user, headers)).body.clientName, 'backend');
});

const alertsOf = async ({ email }: { email: string }) =>
  (await messagesTo(target, email)).filter(({ template }) => template === 'new-device').map(({ locals }) => locals);

test('without the setting no mail is sent about a new browser', async () => {
  const user = await aUser(target);
  for (const userAgent of [agents.chrome, agents.firefox]) await logIn(guest, user, { 'User-Agent': userAgent });
  assert.deepEqual(await alertsOf(user), []);
});

test('with it the user gets a mail about a new browser or system only', async () => {
  await changeSettings(target, { 'session.alerts': true });
  target.clock.advance(500);
  const user = await aUser(target);
  /** [browser, whether it is told, what happens before] */
  const steps: [keyof typeof agents, boolean, (() => Promise<unknown>)?][] = [
    ['chrome', false],
    ['chrome', false],
    ['firefox', true],
    ['newerChrome', false],
    ['edge', true],
    ['safari', true],
    ['iphone', true],
    // Sessions that were ended are remembered.
    ['chrome', false, async () => endAll(await logIn(guest, user, { 'User-Agent': agents.firefox }))],
    ['firefox', false],
    ['chrome', true, async () => target.clock.advance(31 * day)],
    ['chrome', false, async () => target.clock.advance(29 * day)],
  ];
  for (const [index, [name, isTold, before]] of steps.entries()) {
    await before?.();
    const { recorded } = await recordedBy(target, () => logIn(guest, user, { 'User-Agent': agents[name] }));
    assert.deepEqual(recorded.messages, isTold ? ['new-device'] : [], `step ${index}: ${name}`);
  }
  const [first] = await alertsOf(user);
  const { client, system, ip, name, project } = first ?? {};
  assert.deepEqual(
    { client, system, ip, name, project },
    { client: 'Firefox 121.0', system: 'Linux', ip: '127.0.0.1', name: user.name, project: target.project.name },
  );
  assert.ok(!Number.isNaN(Date.parse(String(first?.at))));
  const own = (await rowsOf(target, 'sessions')).filter(({ user_id }) => user_id === user.id);
  assert.ok(own.length > 0);
});

test('devices of others do not count for this user, here or in another project', async () => {
  const [user, other] = [await aUser(target), await aUser(target)];
  await logIn(guest, other, { 'User-Agent': agents.safari });
  await logIn(guest, user, { 'User-Agent': agents.chrome });
  await logIn(guest, user, { 'User-Agent': agents.safari });
  assert.equal((await alertsOf(user)).length, 1);
  const there = createClient(target, { project: target.neighbour.id });
  const namesake = await aUser(target, { id: user.id }, { project: target.neighbour.id });
  await logIn(there, namesake, { 'User-Agent': agents.iphone });
  await logIn(guest, user, { 'User-Agent': agents.iphone });
  assert.equal((await alertsOf(user)).length, 2);
});

async function endAll({ body }: { body: Record<string, unknown> }): Promise<void> {
  (await createClient(target, { session: String(body.secret) }).delete('/account/sessions')).expect(204);
}
