// Two processes of the built command on one database: what may happen once happens once, however many ask at the same moment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { redeemPath, wrongSecret } from './setup.js';

const place = await install();
after(() => place.dispose());
place.env.SVC_RATE_LIMIT = 'off';
place.env.SVC_SMS_URL = 'https://user:pass@sms.example/send';
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
const keyOptions = ['--project', 'shop', '--name', 'test', '--scopes', 'sessions.write'];
const { secret: key } = await place.json<{ secret: string }>(['apikey', 'create', ...keyOptions]);
const servers = [await place.serve(), await place.serve()] as const;

type Given = { readonly userId: string; readonly secret: string };
type Seen = { readonly status: number; readonly type?: string };

async function post(server: number, path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(servers[server % 2 === 0 ? 0 : 1].url + path, {
    method: 'POST',
    headers: { 'X-Service-Project': 'shop', 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, ...((await answer.json()) as { type?: string; userId?: string; secret?: string }) };
}
/** Asks as a server key does, which is told the secret. */
async function issued(path: string, body: object): Promise<Given> {
  const { status, userId = '', secret = '' } = await post(0, path, body, { 'X-Service-Key': key });
  assert.equal(status, 201);
  return { userId, secret };
}
const together = (count: number, body: (index: number) => object): Promise<Seen[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => post(index, redeemPath, body(index))));
const refusals = (answers: Seen[]) =>
  answers.filter(({ status, type }) => status === 401 && type === 'user_invalid_token');
/** Neither logged in nor refused, nor told to come back by a machine that has too much to do. */
const odd = (answers: Seen[]) =>
  answers.filter((answer) => ![201, 503].includes(answer.status) && !refusals([answer]).length);
const countOf = async (what: string): Promise<number> =>
  Number((await place.sql(`select count(*) as n from ${what}`))[0]?.n);

const ways = [
  ['magic link', '/account/tokens/magic-url', 'email', 'somebody@mail.example'],
  ['email code', '/account/tokens/email', 'email', 'somebody.else@mail.example'],
  ['phone code', '/account/tokens/phone', 'phone', '+14155550100'],
] as const;

for (const [name, path, channel, contact] of ways) {
  test(`50 uses of one ${name} at once open one session of one user`, async () => {
    const given = await issued(path, { userId: 'unique()', [channel]: contact });
    const answers = await together(50, () => given);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.deepEqual(odd(answers), []);
    assert.equal(await countOf(`sessions where user_id = '${given.userId}'`), 1);
    assert.equal(await countOf(`users where ${channel} = '${contact}'`), 1);
    const own = `resource like 'users/${given.userId}%'`;
    assert.equal(await countOf(`audit_entries where action = 'sessionCreated' and ${own}`), 1);
    assert.equal(await countOf(`audit_entries where action = 'accountCreated' and ${own}`), 1);
    assert.equal((await post(1, redeemPath, given)).status, 401);
  });
}

for (const [name, path, channel, contact] of ways.slice(1)) {
  test(`of 100 wrong guesses of one ${name} at once five are judged, and the right code comes too late`, async () => {
    const { userId, secret } = await issued(path, { userId: 'unique()', [channel]: contact });
    const failed = `audit_entries where action = 'loginFailed'`;
    const before = await countOf(failed);
    const start = Number(wrongSecret(secret));
    const guesses = Array.from({ length: 101 }, (_, index) => String((start + index) % 1_000_000).padStart(6, '0'));
    const wrong = guesses.filter((guess) => guess !== secret).slice(0, 100);
    const answers = await together(100, (index) => ({ userId, secret: wrong[index] }));
    assert.deepEqual(odd(answers), []);
    assert.ok(answers.every(({ status }) => status !== 201));
    // A guess is compared only where the row gave a try away; it has five, and cannot have fewer than none.
    const [row] = await place.sql(`select tries_left, used_at from one_time_secrets where recipient = '${contact}'
      and tries_left is not null`);
    assert.deepEqual([Number(row?.tries_left), row?.used_at], [0, null]);
    assert.equal((await countOf(failed)) - before, refusals(answers).length);
    for (const server of [0, 1]) assert.equal((await post(server, redeemPath, { userId, secret })).status, 401);
  });

  test(`the right ${name} among 99 wrong ones opens at most one session`, async () => {
    for (let round = 0; round < 3; round++) {
      const { userId, secret } = await issued(path, { userId: 'unique()', [channel]: contact });
      const before = await countOf('sessions');
      const answers = await together(100, (index) => ({
        userId,
        secret: index === 3 ? secret : wrongSecret(secret).replace(/.$/, String(index % 10)),
      }));
      const opened = answers.filter(({ status }) => status === 201).length;
      assert.ok(opened <= 1);
      assert.equal((await countOf('sessions')) - before, opened);
      assert.deepEqual(odd(answers), []);
    }
  });
}

test('the built package has the page of a link', async () => {
  const page = await fetch(`${servers[0].url}/auth/link?project=shop&userId=a&secret=b`);
  assert.equal(page.status, 200);
  assert.match(await page.text(), /<h1>Sign in<\/h1>/);
});

test('an anonymous account that is upgraded at one process is refused by its old secret at the other', async () => {
  const { secret = '' } = await post(0, '/account/sessions/anonymous', {});
  const read = (server: number, session: string) =>
    fetch(`${servers[server === 0 ? 0 : 1].url}/account`, {
      headers: { 'X-Service-Project': 'shop', 'X-Service-Session': session },
    });
  assert.equal((await read(1, secret)).status, 200);
  const upgrade = await fetch(`${servers[0].url}/account/email`, {
    method: 'PATCH',
    headers: { 'X-Service-Project': 'shop', 'X-Service-Session': secret, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: 'upgraded@mail.example', password: 'a fine password' }),
  });
  assert.equal(upgrade.status, 200);
  assert.equal((await read(1, secret)).status, 401);
  assert.equal((await read(1, upgrade.headers.get('X-Service-Session') ?? '')).status, 200);
});
