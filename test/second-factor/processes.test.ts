// Two processes of the built command on one database: a code of an app, or a recovery code, counts once, and guesses of both are five.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOTP, URI } from 'otpauth';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const place = await install();
after(() => place.dispose());
place.env.SVC_RATE_LIMIT = 'off';
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
const servers = [await place.serve(), await place.serve()] as const;

type Seen = { readonly status: number; readonly type?: string; readonly [member: string]: unknown };

async function call(server: number, method: string, path: string, body: object, session?: string): Promise<Seen> {
  const answer = await fetch(servers[server % 2 === 0 ? 0 : 1].url + path, {
    method,
    headers: {
      ...{ 'X-Service-Project': 'shop', 'Content-Type': 'application/json' },
      ...(session === undefined ? {} : { 'X-Service-Session': session }),
    },
    body: JSON.stringify(body),
  });
  return { status: answer.status, ...((await answer.json()) as object) };
}

let people = 0;
/** Somebody with an app; a code of the step before is never spent by the enrolment. */
async function aGuarded() {
  people += 1;
  const credentials = { email: `guarded${people}@mail.example`, password: 'correct horse' };
  await call(0, 'POST', '/account', { userId: `guarded${people}`, name: '', ...credentials });
  const { secret } = await call(0, 'POST', '/account/sessions/email', credentials);
  const { uri } = await call(0, 'POST', '/account/mfa/totp', {}, String(secret));
  const app = URI.parse(String(uri));
  assert.ok(app instanceof TOTP);
  // A step that ends before the request arrives would make the code one of two steps before.
  const left = 30_000 - (Date.now() % 30_000);
  if (left < 3000) await sleep(left);
  const earlier = app.generate({ timestamp: Date.now() - 30_000 });
  const { recoveryCodes, status } = await call(1, 'PUT', '/account/mfa/totp', { otp: earlier }, String(secret));
  assert.equal(status, 200);
  return { id: `guarded${people}`, credentials, app, recoveryCodes: recoveryCodes as string[] };
}
const together = (count: number, body: (index: number) => object): Promise<Seen[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => call(at, 'POST', '/account/sessions/email', body(at))));
const countOf = async (what: string): Promise<number> =>
  Number((await place.sql(`select count(*) as n from ${what}`))[0]?.n);

for (const kind of ['code of an app', 'recovery code'] as const) {
  test(`50 uses of one ${kind} at once open one session`, async () => {
    const { id, credentials, app, recoveryCodes } = await aGuarded();
    const before = await countOf(`sessions where user_id = '${id}' and pending = 0`);
    const otp = kind === 'recovery code' ? recoveryCodes[0] : app.generate();
    const answers = await together(50, () => ({ ...credentials, otp }));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    // The others were wrong, or came after five wrong ones; an overloaded machine may tell some to come back.
    for (const { status } of answers) assert.ok([201, 401, 429, 503].includes(status), String(status));
    assert.equal((await countOf(`sessions where user_id = '${id}' and pending = 0`)) - before, 1);
  });
}

test('of 100 wrong guesses at once five are judged, and the right code comes too late', async () => {
  const { id, credentials, app } = await aGuarded();
  const right = app.generate();
  const wrong = Array.from({ length: 101 }, (_, at) => String(at).padStart(6, '0')).filter((guess) => guess !== right);
  const answers = await together(100, (at) => ({ ...credentials, otp: wrong[at] }));
  assert.ok(answers.every(({ status }) => [401, 429, 503].includes(status)));
  const judged = answers.filter(({ type }) => type === 'user_invalid_token').length;
  assert.ok(judged <= 5, `${judged} were judged`);
  assert.equal(await countOf(`audit_entries where action = 'loginFailed' and resource = 'users/${id}'`), judged);
  for (const server of [0, 1]) {
    const late = await call(server, 'POST', '/account/sessions/email', { ...credentials, otp: app.generate() });
    assert.deepEqual([late.status, late.type], [429, 'general_rate_limit_exceeded']);
  }
});
