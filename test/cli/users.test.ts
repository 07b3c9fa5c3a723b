// `svc user update` and `svc user sessions` beside a running server.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const password = 'correct horse battery';
type User = Record<string, unknown> & { $id: string };
type Sessions = { total: number; sessions: { $id: string; secret: string; provider: string }[] };

let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
});
after(() => place.dispose());

const at = (...words: string[]) => ['user', ...words, '--project', 'shop'];
const create = (email: string, id: string) =>
  place.json<User>(at('create', '--email', email, '--id', id, '--password-stdin'), `${password}\n`);

test('a user is changed flag by flag, and the empty value takes away', async () => {
  await create('ada@example.com', 'ada');
  const changed = await place.json<User>(
    at('update', 'ada', '--name', 'Ada', '--phone', '+14155550100', '--labels', 'vip,beta', '--email-verified', 'true'),
  );
  const { name, phone, labels, emailVerification, phoneVerification } = changed;
  assert.deepEqual(
    { name, phone, labels, emailVerification, phoneVerification },
    { name: 'Ada', phone: '+14155550100', labels: ['vip', 'beta'], emailVerification: true, phoneVerification: false },
  );
  const again = await place.json<User>(at('update', 'ada@example.com', '--labels', '', '--phone', '', '--name', ''));
  assert.deepEqual([again.labels, again.phone, again.name, again.email], [[], '', '', 'ada@example.com']);
  const moved = await place.json<User>(at('update', 'ada', '--email', 'Lovelace@example.com'));
  assert.deepEqual([moved.email, moved.emailVerification], ['lovelace@example.com', false]);
});

test('a changed password ends the sessions at a running server, and so does --end', async () => {
  const { $id } = await create('bob@example.com', 'bob');
  const server = await place.serve([], {});
  const headers = { 'content-type': 'application/json', 'x-service-project': 'shop' };
  const login = async (secret: string) => {
    const body = JSON.stringify({ email: 'bob@example.com', password: secret });
    const reply = await fetch(`${server.url}/account/sessions/email`, { method: 'POST', headers, body });
    return { status: reply.status, session: (await reply.json()) as { $id: string; secret: string } };
  };
  const account = async ({ secret }: { secret: string }) =>
    (await fetch(`${server.url}/account`, { headers: { ...headers, 'x-service-session': secret } })).status;
  const [one, two] = [(await login(password)).session, (await login(password)).session];

  const listed = await place.json<Sessions>(at('sessions', $id));
  assert.deepEqual(
    [listed.total, listed.sessions.map(({ $id: id, secret, provider }) => [id, secret, provider])],
    [
      2,
      [
        [one.$id, '', 'email'],
        [two.$id, '', 'email'],
      ],
    ],
  );
  const left = await place.json<Sessions>(at('sessions', 'bob@example.com', '--end', one.$id));
  assert.deepEqual(
    left.sessions.map(({ $id: id }) => id),
    [two.$id],
  );
  assert.deepEqual([await account(one), await account(two)], [401, 200]);

  await place.json(at('update', 'bob', '--password-stdin'), 'staple paper clip\n');
  assert.equal(await account(two), 401);
  assert.deepEqual([(await login(password)).status, (await login('staple paper clip')).status], [401, 201]);
  assert.equal((await place.json<Sessions>(at('sessions', 'bob', '--end-all'))).total, 0);
});

test('what cannot be is refused in words and leaves the user as it was', async () => {
  const before = await create('eve@example.com', 'eve');
  const refused: [code: number, words: string[]][] = [
    [2, at('update', 'eve')],
    [2, at('update', 'eve', '--email', 'nobody')],
    [2, at('update', 'eve', '--labels', 'with space')],
    [2, at('update', 'eve', '--email-verified', 'perhaps')],
    [2, at('sessions', 'eve', '--end', 'x', '--end-all')],
  ];
  for (const [code, words] of refused) {
    const run = await place.svc(words);
    assert.equal(run.code, code, `${words.join(' ')}: ${run.err}`);
  }
  for (const words of [at('update', 'nobody', '--name', 'x'), at('sessions', 'eve', '--end', 'nothing')])
    assert.notEqual((await place.svc(words)).code, 0);
  assert.notEqual(
    (await place.svc(at('update', 'eve', '--name', 'E', '--password-stdin'), { input: 'password\n' })).code,
    0,
  );
  assert.notEqual((await place.svc(at('update', 'eve', '--name', 'E', '--phone-verified', 'yes'))).code, 0);
  assert.deepEqual(await place.json<User>(at('show', 'eve')), before);
});

test('the id of a deleted user is said to be one, and is not given again', async () => {
  await create('gone@example.com', 'gone');
  await place.json([...at('delete', 'gone'), '--yes']);
  const again = [...['user', 'create', '--project', 'shop', '--password-stdin'], '--email', 'new@example.com'];
  const { code, err } = await place.svc([...again, '--id', 'gone'], { input: 'tall-green-bicycle' });
  const message = 'A deleted user had this id, and ids are never given again.';
  assert.deepEqual([code, err], [5, `error: ${message}\nnext: choose another --id\n`]);
  const taken = await place.svc([...again, '--id', 'eve'], { input: 'tall-green-bicycle' });
  assert.match(taken.err, /^error: A user with this id or email address already exists\./);
  await place.json(['team', 'create', 'Gone', '--project', 'shop', '--id', 'gone']);
  await place.json(['team', 'delete', 'gone', '--project', 'shop', '--yes']);
  const team = await place.svc(['team', 'create', 'Gone', '--project', 'shop', '--id', 'gone']);
  assert.match(
    team.err,
    /^error: A deleted team had this id, and ids are never given again\.\nnext: choose another --id/,
  );
});

test('what ended sessions says so on stderr', async () => {
  const { code, out, err } = await place.svc(at('sessions', 'eve', '--end-all'));
  assert.deepEqual([code, err], [0, 'Ended 0 sessions of eve (eve@example.com).\n'], out);
});
