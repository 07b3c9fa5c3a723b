// Values come back as they went, and errors of the database keep them to themselves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyVisible } from '#src/contract/visible.js';
import { limitCounters } from '#src/features/installation/limits/store.js';
import { aLoggedInUser, aPerson, logIn, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { statement } from '../harness/platform.js';

const target = await startAppliance();
const { runtime } = target.appliance;
const { db, sql } = runtime;
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };

test('milliseconds of 64 bits come back exactly', async () => {
  for (const arrival of [0, 1, 2 ** 31, 2 ** 32 + 1, Date.now(), 253_402_300_799_999, Number.MAX_SAFE_INTEGER]) {
    const row = {
      projectId: target.project.id,
      class: 'login',
      kind: 'account',
      key: `ms-${arrival}`,
      arrival,
      countedAt: arrival,
    };
    await db.work(by, (unit) => unit.run(sql`${limitCounters.insert(row)}`));
    const found = await db.one(sql`select ${limitCounters.row} from limit_counters where key = ${row.key}`);
    assert.ok(found);
    assert.deepEqual(limitCounters.decode(found), row);
  }
});

const texts = [
  `'; drop table users; --`,
  `" or ""="`,
  '\\',
  "\\'",
  '%_',
  '$1 $2 ? ?? :name @p {}',
  '{"json": [1, "two"]}',
  '{a,"b\\"c",NULL}',
  'null',
  '12345678901234567890',
  '0x10',
  '1e3',
  'true',
  ' leading and trailing ',
  'tab\tnewline\nreturn\r',
  'emoji 🦄 and Å, ﬁ, 漢字, ‏עברית‎',
  '\u0001\u007f\u0080\uffff',
  '\u2028\u2029',
];
for (const text of texts) {
  test(`the text ${JSON.stringify(text)} comes back as it went`, async () => {
    const { client } = await aLoggedInUser(target);
    const mayBeName = onlyVisible.test(text);
    const renamed = await client.patch('/account/name', { name: text });
    if (mayBeName) assert.equal(renamed.expect(200).body.name, text);
    else renamed.refused(400, 'general_argument_invalid');
    assert.equal((await client.get('/account')).body.name === text, mayBeName);
    const prefs = { [text]: text, list: [text, { [text]: null }] };
    (await client.patch('/account/prefs', { prefs })).expect(200);
    assert.deepEqual((await client.get('/account/prefs')).body, prefs);
    const subject = await db.all(statement(runtime, 'select value from audit_subjects where value = ?', [text]));
    assert.deepEqual(subject, mayBeName ? [{ value: text }] : []);
  });
}

test('a unique violation is reported as one, without the values', async () => {
  const text = 'insert into installation (name, value) values (?, ?)';
  const insert = () => db.work(by, (unit) => unit.run(statement(runtime, text, ['twice', 'unmistakable'])));
  await insert();
  await assert.rejects(insert(), (error: Error & { kind?: string }) => {
    assert.equal(error.kind, 'unique');
    assert.doesNotMatch(
      `${error.message} ${JSON.stringify(error)} ${error.stack}`,
      /unmistakable|installation|insert/i,
    );
    return true;
  });
});

test('an error of the database reaches neither the answer nor the log with its text or its values', async () => {
  const person = aPerson({ name: 'Unmistakable Name', password: 'unmistakable password' });
  const guest = createClient(target);
  (await guest.post('/account', signUpBody(person))).expect(201);
  const user = await logIn(target, person);
  const email = `unmistakable-${person.email}`;
  await runSql(target, 'alter table users rename to users_away');
  const answers = [
    await guest.post('/account', signUpBody({ ...person, email })),
    await guest.post('/account/sessions/email', { email: person.email, password: person.password }),
    await user.client.patch('/account/name', { name: 'Unmistakable Other' }),
    await user.client.get('/account'),
  ];
  await runSql(target, 'alter table users_away rename to users');
  for (const answer of answers) {
    assert.equal(answer.refused(500, 'general_unknown').string('message'), 'Internal error');
    const id = answer.headers.get('X-Request-Id');
    assert.match(target.log(), new RegExp(`"event":"request.failed","requestId":"${id}"`));
  }
  for (const trace of [
    'nmistakable',
    person.email,
    user.secret,
    'users_away',
    'no such table',
    'does not exist',
    'insert into',
    'select ',
  ])
    assert.ok(!target.log().includes(trace) && !answers.some(({ text }) => text.includes(trace)), trace);
  (await user.client.get('/account')).expect(200);
});
