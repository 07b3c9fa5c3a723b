// Beside a running server: it sees each change at its next request or within a second, and the audit log names who made it.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const password = 'correct horse battery';
/** What of the server's answers is looked at here. */
type Reply = { type: string; secret: string; expire: string };

let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
});
after(() => place.dispose());

const createUser = (email: string, ...more: string[]) =>
  place.json<{ $id: string }>(
    ['user', 'create', '--project', 'shop', '--email', email, '--password-stdin', ...more],
    `${password}\n`,
  );

test('a running server follows the command line', async () => {
  const server = await place.serve([], { SVC_RATE_LIMIT: 'on' });
  const at = server.url;
  const headers = { 'content-type': 'application/json', 'x-service-project': 'shop' };
  const login = async (email: string, secret = password) => {
    const body = JSON.stringify({ email, password: secret });
    const reply = await fetch(`${at}/account/sessions/email`, { method: 'POST', headers, body });
    return { status: reply.status, value: (await reply.json()) as Reply };
  };
  const account = async (session: string) => {
    const reply = await fetch(`${at}/account`, { headers: { ...headers, 'x-service-session': session } });
    return { status: reply.status, value: (await reply.json()) as Reply };
  };

  const { $id } = await createUser('ada@example.com');
  const { value: session } = await login('ada@example.com');
  assert.equal((await account(session.secret)).status, 200);
  await place.json(['user', 'block', 'ada@example.com', '--project', 'shop']);
  assert.deepEqual(
    [(await account(session.secret)).value.type, (await login('ada@example.com')).value.type],
    ['user_blocked', 'user_blocked'],
  );
  await place.json(['user', 'unblock', $id, '--project', 'shop']);
  assert.equal((await account(session.secret)).status, 401, 'the sessions from before stay ended');
  const { value: again } = await login('ada@example.com');
  await place.json(['user', 'delete', $id, '--project', 'shop', '--yes']);
  assert.equal((await account(again.secret)).status, 401);

  await createUser('bob@example.com');
  for (let i = 0; i < 10; i++) await login('bob@example.com', 'wrong password');
  assert.equal((await login('bob@example.com')).status, 429);
  type Limits = { limits: { class: string; key: string; count: number; limit: number; resetAt: string }[] };
  const { limits } = await place.json<Limits>(['limits', 'show', '--project', 'shop', '--user', 'Bob@example.com']);
  assert.deepEqual(
    limits.map(({ class: name, key, count, limit }) => ({ name, key, count, limit })),
    [{ name: 'login', key: 'bob@example.com', count: 10, limit: 10 }],
  );
  assert.match(limits[0]?.resetAt ?? '', /^\d{4}-.*Z$/);
  const unknown = await login('stranger@example.com', 'wrong password');
  assert.equal(unknown.status, 401);
  const stranger = await place.json<Limits>(['limits', 'show', '--project', 'shop', '--user', 'stranger@example.com']);
  assert.equal(stranger.limits.length, 1);
  assert.match(
    (await place.svc(['limits', 'show', '--project', 'shop'])).err,
    /counted in the memory of the server processes/,
  );
  assert.equal(
    (await place.json<{ reset: number }>(['limits', 'reset', '--project', 'shop', '--user', 'bob@example.com'])).reset,
    1,
  );
  assert.equal((await login('bob@example.com')).status, 201);

  const origin = 'https://app.example.com';
  const allowed = async () =>
    (await fetch(`${at}/account`, { headers: { ...headers, origin } })).headers.get('access-control-allow-origin');
  assert.equal(await allowed(), null);
  await place.json(['platform', 'add', '--project', 'shop', '--hostname', 'app.example.com', '--id', 'app']);
  await sleep(1000);
  assert.equal(await allowed(), origin);

  const key = await place.json<{ $id: string; secret: string }>([
    'apikey',
    'create',
    '--project',
    'shop',
    '--name',
    'k',
    '--scopes',
    'all',
  ]);
  const platforms = () =>
    fetch(`${at}/project/platforms`, { headers: { ...headers, 'x-service-key': key.secret } }).then(
      ({ status }) => status,
    );
  assert.equal(await platforms(), 200);
  await place.json(['apikey', 'revoke', key.$id, '--yes']);
  assert.equal(await platforms(), 401);
  await place.json(['project', 'update', 'shop', '--set', 'session.days=3']);
  await sleep(1000);
  const { value: short } = await login('bob@example.com');
  assert.ok(Date.parse(short.expire) < Date.now() + 3.1 * 86_400_000);
  await place.json(['project', 'delete', 'shop', '--confirm', 'Shop']);
  await sleep(1000);
  assert.equal((await account(short.secret)).value.type, 'project_not_found');
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('changes made on the command line are in the audit log', async () => {
  const rows = await place.sql(
    `select action, actor_kind, actor_id, project_id, request_id from audit_entries where project_id = 'shop'`,
  );
  const operators = rows.filter((row) => row.actor_kind === 'operator');
  assert.ok(operators.length > 10);
  for (const row of operators) {
    assert.equal(row.actor_id, 'cli');
    assert.match(String(row.request_id), /^[0-9a-f]{20}$/);
  }
  const actions = new Set(operators.map(({ action }) => action));
  const expected = [
    'projectCreated',
    'projectUpdated',
    'projectDeleted',
    'accountCreated',
    'accountBlocked',
    'accountUnblocked',
  ];
  for (const action of [...expected, 'accountDeleted', 'keyCreated', 'keyRevoked', 'platformAdded', 'limitsReset']) {
    assert.ok(actions.has(action), action);
  }
});
