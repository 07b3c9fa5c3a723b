// Teams by command, beside a server that runs.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
const scope = ['--project', 'shop'];
let place: Installation;
let server: Server;
let key: string;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  key = (
    await place.json<{ secret: string }>(['apikey', 'create', ...scope, '--name', 'test', '--scopes', 'teams.read'])
  ).secret;
  for (const name of ['ada', 'bob']) {
    const user = ['user', 'create', ...scope, '--email', `${name}@example.com`, '--name', name, '--id', name];
    await place.json([...user, '--password-stdin'], 'correct horse battery');
  }
  server = await place.serve();
});
after(() => place.dispose());

/** The same by REST, with a server key. */
async function rest(path: string): Promise<Json> {
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': key };
  return (await (await fetch(server.url + path, { headers })).json()) as Json;
}

test('what commands do to a team a running server knows at once, and shows as they do', async () => {
  const team = await place.json<Json>(['team', 'create', 'Drivers', ...scope, '--id', 'drivers']);
  assert.deepEqual([team.name, team.total], ['Drivers', 0]);
  assert.deepEqual(await rest('/teams/drivers'), team);
  const added = await place.json<Json>(['team', 'add', 'drivers', 'ada@example.com', ...scope, '--roles', 'owner, x']);
  assert.deepEqual([added.userId, added.confirm, added.roles], ['ada', true, ['owner', 'x']]);
  await place.json(['team', 'add', 'drivers', 'bob', ...scope]);
  const members = await place.json<Json>(['team', 'members', 'drivers', ...scope]);
  assert.deepEqual(await rest('/teams/drivers/memberships'), members);
  assert.equal((await place.json<Json>(['team', 'show', 'drivers', ...scope])).total, 2);
  const { out } = await place.svc(['team', 'members', 'drivers', ...scope]);
  for (const words of ['^USER +E-MAIL +NAME +ROLES +JOINED$', '^ada +ada@example.com +ada +owner,x +20', '^bob +bob@'])
    assert.match(out, new RegExp(words, 'm'));

  await place.json(['team', 'update', 'drivers', ...scope, '--name', 'All drivers']);
  await place.json(['team', 'create', 'Other', ...scope, '--id', 'other']);
  const found = await place.json<{ teams: Json[] }>(['team', 'list', ...scope, '--search', 'DRIV']);
  assert.deepEqual(found, { ...(await rest('/teams?search=driv')), withoutOwner: [] });
  assert.deepEqual(
    found.teams.map(({ $id, name, total }) => [$id, name, total]),
    [['drivers', 'All drivers', 2]],
  );
  const page = await place.svc(['team', 'list', ...scope, '--limit', '1', '--offset', '1']);
  assert.match(page.out, /^other +Other +0 +none +20/m);
  const first = await place.svc(['team', 'list', ...scope, '--limit', '1']);
  assert.match(first.err, /Showing 1 of 2\. Use --after drivers to see the next ones\./);
  const next = await place.svc(['team', 'list', ...scope, '--limit', '1', '--after', 'drivers']);
  assert.equal(next.out, page.out);

  await place.json(['team', 'remove', 'drivers', 'bob@example.com', ...scope]);
  assert.equal((await rest('/teams/drivers')).total, 1);
  await place.json(['team', 'delete', 'drivers', ...scope, '--yes']);
  assert.equal((await rest('/teams/drivers')).type, 'team_not_found');
  assert.deepEqual(await place.sql("select memberships from users where id = 'ada'"), [{ memberships: '[]' }]);
});

test('the audit log names the operator', async () => {
  const rows = await place.sql(
    "select action, actor_kind, actor_id from audit_entries where action like 'team%' or action like 'membership%'",
  );
  const actions = ['teamCreated', 'membershipConfirmed', 'teamUpdated', 'membershipDeleted', 'teamDeleted'];
  for (const action of actions)
    assert.ok(
      rows.some((row) => row.action === action),
      action,
    );
  for (const row of rows) assert.deepEqual([row.actor_kind, row.actor_id], ['operator', 'cli'], String(row.action));
});

test('mistakes end with the code that scripts expect, and a next step', async () => {
  await place.json(['team', 'create', 'Crew', ...scope, '--id', 'crew']);
  await place.json(['team', 'add', 'crew', 'ada', ...scope, '--roles', 'owner']);
  const table: [number, string, string[]][] = [
    [2, 'usage_invalid', ['team', 'update', 'crew', ...scope]],
    [2, 'usage_invalid', ['team', 'list', ...scope, '--limit', 'x']],
    [2, 'general_argument_invalid', ['team', 'create', 'Bad', ...scope, '--id', '_bad']],
    [2, 'general_argument_invalid', ['team', 'create', '', ...scope]],
    [2, 'general_argument_invalid', ['team', 'add', 'crew', 'bob', ...scope, '--roles', 'a/b']],
    [5, 'membership_deletion_prohibited', ['team', 'remove', 'crew', 'ada', ...scope]],
    [3, 'project_not_found', ['team', 'list', '--project', 'none']],
    [3, 'team_not_found', ['team', 'show', 'none', ...scope]],
    [3, 'team_not_found', ['team', 'add', 'none', 'bob', ...scope]],
    [3, 'user_not_found', ['team', 'add', 'crew', 'nobody@example.com', ...scope]],
    [3, 'membership_not_found', ['team', 'remove', 'crew', 'bob', ...scope]],
    [4, 'confirmation_refused', ['team', 'delete', 'crew', ...scope]],
    [5, 'team_already_exists', ['team', 'create', 'Again', ...scope, '--id', 'crew']],
    [5, 'membership_already_confirmed', ['team', 'add', 'crew', 'ada', ...scope]],
  ];
  for (const [code, type, args] of table) {
    const run = await place.svc([...args, '--json']);
    assert.equal(run.code, code, `${args.join(' ')}: ${run.err}`);
    const { error } = JSON.parse(run.err);
    assert.deepEqual([error.type, run.out], [type, ''], args.join(' '));
    assert.ok(error.message !== '' && error.fix !== '');
  }
  const last = await place.svc(['team', 'remove', 'crew', 'ada', ...scope]);
  assert.match(last.err, /^next: svc team add crew OTHER_USER .*--roles owner$/m);
});

test('a team that has lost its owner is named by the list, with what gives it another one', async () => {
  const ofList = async () =>
    (await place.json<{ withoutOwner: string[] }>(['team', 'list', ...scope, '--limit', '5000'])).withoutOwner;
  await place.json(
    ['user', 'create', ...scope, '--email', 'eve@example.com', '--id', 'eve', '--password-stdin'],
    'long password\n',
  );
  await place.json(['team', 'create', 'Lost', ...scope, '--id', 'lost']);
  await place.json(['team', 'create', 'Kept', ...scope, '--id', 'kept']);
  assert.ok((await ofList()).includes('lost'), 'without members');
  for (const team of ['lost', 'kept']) await place.json(['team', 'add', team, 'eve', ...scope, '--roles', 'owner']);
  await place.json(['team', 'add', 'kept', 'ada', ...scope, '--roles', 'owner']);
  await place.json(['team', 'add', 'lost', 'ada', ...scope, '--roles', 'co-owner,owners']);
  assert.deepEqual(
    (await ofList()).filter((id) => ['lost', 'kept'].includes(id)),
    [],
  );
  await place.json(['user', 'delete', 'eve', ...scope, '--yes']);
  assert.deepEqual(
    (await ofList()).filter((id) => ['lost', 'kept'].includes(id)),
    ['lost'],
  );
  const { out, err } = await place.svc(['team', 'list', ...scope, '--search', 'Lost']);
  assert.match(out, /^ID +NAME +MEMBERS +OWNER +CREATED$/m);
  assert.match(out, /^lost +Lost +1 +none +20/m);
  assert.match(err, /svc team add lost USER --project shop --roles owner/);
  await place.json(['team', 'add', 'lost', 'bob', ...scope, '--roles', 'owner']);
  assert.ok(!(await ofList()).includes('lost'));
});

test('removing a person who is invited by id and by address withdraws both', async () => {
  const send = async (path: string, body: object, session = ''): Promise<Json> => {
    const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json', 'X-Service-Session': session };
    const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as Json;
  };
  const ada = { email: 'ada@example.com', password: 'correct horse battery' };
  const { secret } = await send('/account/sessions/email', ada);
  await place.json(['team', 'create', 'Twice', ...scope, '--id', 'twice']);
  await place.json(['team', 'add', 'twice', 'ada', ...scope, '--roles', 'owner']);
  for (const named of [{ userId: 'bob' }, { email: 'bob@example.com' }]) {
    const body = { ...named, roles: [], url: 'http://localhost:3000/' };
    assert.equal((await send('/teams/twice/memberships', body, String(secret))).confirm, false);
  }
  const users = async () =>
    (await place.json<{ memberships: Json[] }>(['team', 'members', 'twice', ...scope])).memberships.map(
      ({ userId, confirm }) => [userId, confirm],
    );
  assert.deepEqual(await users(), [
    ['ada', true],
    ['bob', false],
    ['bob', false],
  ]);
  await place.json(['team', 'remove', 'twice', 'bob', ...scope]);
  assert.deepEqual(await users(), [['ada', true]]);
});

test('a user who is deleted by command leaves the teams, and the feed reports it', async () => {
  await place.json(['team', 'create', 'Left', ...scope, '--id', 'left']);
  const { $id } = await place.json<Json>(['team', 'add', 'left', 'bob', ...scope]);
  await place.json(['user', 'delete', 'bob', ...scope, '--yes']);
  assert.equal((await rest('/teams/left')).total, 0);
  const ended = `select type from events where resource = 'teams/left/memberships/${$id}' order by created_at, type`;
  assert.deepEqual(await place.sql(ended), [{ type: 'membershipCreated' }, { type: 'membershipDeleted' }]);
});
