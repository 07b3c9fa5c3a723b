// `svc user reset-mfa`, beside a running server: somebody who has lost app and codes gets in again.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { TOTP, URI } from 'otpauth';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const person = { email: 'ada@example.com', password: 'correct horse battery' };
let place: Installation;
let server: Server;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  server = await place.serve();
});
after(() => place.dispose());

async function call(method: string, path: string, body?: unknown, session = '') {
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Session': session, 'Content-Type': 'application/json' };
  const url = `${new URL(server.url).origin}/v1${path}`;
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

test('it takes authenticator and codes, and the next login needs the password alone', async () => {
  assert.equal((await call('POST', '/account', { userId: 'ada', ...person, name: 'Ada' })).status, 201);
  const session = String((await call('POST', '/account/sessions/email', person)).body.secret);
  const totp = URI.parse(String((await call('POST', '/account/mfa/totp', undefined, session)).body.uri));
  assert.ok(totp instanceof TOTP);
  assert.equal((await call('PUT', '/account/mfa/totp', { otp: totp.generate() }, session)).status, 200);
  const refused = await call('POST', '/account/sessions/email', person);
  assert.equal(refused.body.type, 'user_more_factors_required');
  const pending = (refused.body.pendingSession as { secret: string }).secret;

  const reset = ['user', 'reset-mfa', 'ada@example.com', '--project', 'shop'];
  assert.match((await place.svc(['user', 'show', 'ada', '--project', 'shop'])).out, /second factor +on/);
  assert.match((await place.svc(['user', 'show', 'ada', '--project', 'shop'])).out, /email +\S+ \(not verified\)/);
  assert.match((await place.svc(['user', 'list', '--project', 'shop'])).out, /VERIFIED.*\nada +\S+ +no /);
  assert.match((await place.svc(['--help'])).out, /document +Exports and imports the documents/);
  assert.equal((await place.svc(reset)).code, 4);
  assert.equal((await call('POST', '/account/sessions/email', person)).status, 401);
  assert.equal((await place.svc(['user', 'reset-mfa', 'bob', '--project', 'shop', '--yes'])).code, 3);
  const mails = async () =>
    (await place.json<{ mails: { message: string }[] }>(['mail', 'list', '--limit', '100'])).mails.map(
      ({ message }) => message,
    );
  const before = await mails();
  assert.deepEqual((await place.json<{ $id: string; mfa: boolean }>([...reset, '--yes'])).mfa, false);
  assert.deepEqual(await mails(), ['factor-removed', ...before]);
  const mail = (await place.svc(['mail', 'show', '--last'])).out;
  assert.doesNotMatch(mail, /mfa|totp|Factor:/i);
  assert.match(mail, /^sent +no; it is kept here$/m);

  assert.equal((await call('GET', '/account/mfa/factors', undefined, pending)).status, 401);
  assert.equal((await call('POST', '/account/sessions/email', person)).status, 201);
  assert.equal((await call('GET', '/account', undefined, session)).body.mfa, false);
  const audit = await place.sql("select action from audit_entries where actor_id = 'cli' order by action");
  const actions = audit.map(({ action }) => action).filter((action) => action !== 'projectCreated');
  assert.deepEqual(actions, ['factorRemoved', 'mfaDisabled', 'recoveryCodesDeleted']);
  for (const { name, rows } of await counts()) assert.equal(Number(rows), 0, String(name));
  assert.equal((await place.svc([...reset, '--yes'])).code, 0, 'a second time changes nothing');
});

const counts = () =>
  place.sql(`select 'authenticators' as name, count(*) as rows from authenticators
    union all select 'recovery_codes', count(*) from recovery_codes
    union all select 'pending sessions', count(*) from sessions where pending = 1`);
