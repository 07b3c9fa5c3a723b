// Whoever owns the database can drop its triggers and change the audit log; the verification names the first entry that is not as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyExport } from '#src/features/index.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { databaseUnderTest, type TestAppliance } from '../harness/appliance.js';
import { rowsOf, runSql } from '../harness/database.js';
import { startSealed, tamper } from './setup.js';

const copyOf = (seq: number, id: string, more: string) =>
  `insert into audit_entries (id, project_id, at, actor_kind, actor_id, action, resource, request_id, data, mac, seq, previous_hash, hash)
   select '${id}', project_id, at, actor_kind, actor_id, action, resource, request_id, data, mac, ${more} from audit_entries where seq = ${seq}`;
const withoutSubjects = (condition: string) =>
  `delete from audit_subjects where entry_id in (select id from audit_entries where ${condition})`;

const statementTo = (last: string) =>
  `insert into audit_segments (first_seq, last_seq, previous_hash, hash, at, key_id, signature)
   values (1, ${last}, '', 'x', '2020-01-01T00:00:00.000Z', 'x', 'y')`;

/** What is changed, which entry is named, and what is said of it. The log has at least nine entries. */
const attacks: [string, string[], number | null, RegExp][] = [
  ['an edited value', [`update audit_entries set resource = 'users/x' where seq = 3`], 3, /changed/],
  ['an edited time', [`update audit_entries set at = '2020-01-01T00:00:00.000Z' where seq = 4`], 4, /changed/],
  ['an edited HMAC', [`update audit_entries set mac = 'x' where seq = 4`], 4, /changed/],
  ['data that are no JSON', [`update audit_entries set data = 'x' where seq = 4`], 4, /changed/],
  ['data that are no object', [`update audit_entries set data = 'null' where seq = 4`], 4, /changed/],
  ['an edited hash', [`update audit_entries set hash = 'x' where seq = 4`], 4, /changed/],
  ['an edited previous hash', [`update audit_entries set previous_hash = 'x' where seq = 4`], 4, /continue/],
  [
    'a deleted entry',
    [withoutSubjects('seq = 5'), 'delete from audit_entries where seq = 5'],
    5,
    /^Entry 5 is missing/,
  ],
  ['the first entry deleted', [withoutSubjects('seq = 1'), 'delete from audit_entries where seq = 1'], 1, /missing/],
  [
    'swapped numbers',
    [
      'update audit_entries set seq = -1 where seq = 3',
      'update audit_entries set seq = 3 where seq = 6',
      'update audit_entries set seq = 6 where seq = -1',
    ],
    3,
    /continue|changed/,
  ],
  [
    'an entry added with a number',
    [copyOf(3, 'added', "(select max(seq) + 1 from audit_entries), 'x', 'y'")],
    -1,
    /cover/,
  ],
  ['an entry added that the sealer takes', [copyOf(3, 'added', 'null, null, null')], -1, /HMAC/],
  [
    'an entry added without JSON that the sealer takes',
    [copyOf(3, 'added', 'null, null, null'), `update audit_entries set data = '' where id = 'added'`],
    -1,
    /HMAC/,
  ],
  ['a head beyond all numbers', ['update audit_heads set seq = 9223372036854775807'], null, /signature of the head/],
  ['a statement beyond all numbers', [statementTo('9223372036854775807')], 1, /signature of the segment/],
  ['the newest entries cut off', [withoutSubjects('seq > 6'), 'delete from audit_entries where seq > 6'], 7, /missing/],
  [
    'the newest entries and the head cut off',
    [
      withoutSubjects('seq > 6'),
      'delete from audit_entries where seq > 6',
      'update audit_heads set seq = 6, hash = (select hash from audit_entries where seq = 6)',
    ],
    null,
    /signature/,
  ],
  [
    'an entry deleted, and everything made as if it was never sealed',
    [
      withoutSubjects('seq = 5'),
      'delete from audit_entries where seq = 5',
      'update audit_entries set seq = null, hash = null, previous_hash = null',
      "update audit_heads set seq = 0, hash = '', at = null, key_id = null, signature = null",
    ],
    null,
    /signature of the head/,
  ],
  ['an entry added before the first', [copyOf(3, 'added', "-7, '', ''")], -7, /before the first|HMAC/],
  ['a head without its row', ['delete from audit_heads'], -1, /head is missing/],
  ...(databaseUnderTest === 'sqlite'
    ? ([
        ['a value of another type', ["update audit_entries set resource = x'00ff' where seq = 4"], 4, /another type/],
        ['a number of another type', ["update audit_entries set seq = 'x' where seq = 4"], null, /another type/],
        [
          'a personal value of another type',
          ["update audit_subjects set value = x'00ff' where field = 'name'"],
          -2,
          /another type/,
        ],
      ] as [string, string[], number | null, RegExp][])
    : []),
  ['a personal value edited', ["update audit_subjects set value = 'x' where field = 'name'"], -2, /personal value/],
];

const verify = (target: TestAppliance, head?: string) => target.appliance.features.audit.verify(head);
const sealed = async (target: TestAppliance): Promise<number> => target.appliance.features.audit.headSeq();

for (const [name, statements, first, problem] of attacks) {
  test(`found: ${name}`, async () => {
    const target = await startSealed();
    const before = await verify(target);
    assert.equal(before.findings[0], undefined);
    assert.ok(before.entries >= 9);
    assert.equal(before.waiting, 0);
    const [named] = await runSql(
      target,
      "select min(seq) as seq from audit_entries where id in (select entry_id from audit_subjects where field = 'name')",
    );
    await tamper(target, ...statements);
    await target.appliance.features.audit.seal().catch(() => {});
    const {
      findings: [finding],
    } = await verify(target);
    const expected = first === -1 ? before.seq + 1 : first === -2 ? Number(named?.seq) : first;
    assert.deepEqual([finding?.seq, problem.test(finding?.problem ?? '')], [expected, true], finding?.problem);
  });
}

test('a bad entry hides no later one, and no other entry is named', async () => {
  const target = await startSealed();
  const { audit } = target.appliance.features;
  const { seq } = await verify(target);
  await tamper(
    target,
    `update audit_entries set resource = 'users/x' where seq = 2`,
    withoutSubjects('seq = 4'),
    'delete from audit_entries where seq = 4',
    `update audit_entries set hash = 'x' where seq = 6`,
    `update audit_entries set mac = 'x', hash = 'y' where seq = ${seq}`,
  );
  const bad = [2, 4, 6, 7, seq];
  const { findings, entries } = await verify(target);
  assert.deepEqual(
    findings.map((finding) => finding.seq),
    bad,
    JSON.stringify(findings),
  );
  assert.equal(entries, seq - bad.length);
  const ofExport = await verifyExport(audit.exported(undefined), {});
  assert.deepEqual(
    ofExport.findings.map((finding) => finding.seq),
    bad,
  );
});

test('entries that were cut off with an older head in place are found by a head that was noted elsewhere', async () => {
  const target = await startSealed();
  const [old] = await runSql(target, 'select seq, hash, at, key_id, signature from audit_heads');
  await aLoggedInUser(target);
  await target.appliance.features.audit.seal();
  const { head } = await verify(target);
  assert.equal((await verify(target, head)).findings[0], undefined);
  assert.equal((await verify(target, String(old?.hash))).findings[0], undefined);
  await tamper(
    target,
    withoutSubjects(`seq > ${old?.seq}`),
    `delete from audit_entries where seq > ${old?.seq}`,
    `update audit_heads set seq = ${old?.seq}, hash = '${old?.hash}', at = '${old?.at}', signature = '${old?.signature}'`,
  );
  assert.equal((await verify(target)).findings[0], undefined);
  const {
    findings: [finding],
  } = await verify(target, head);
  assert.deepEqual([finding?.seq, /noted/.test(finding?.problem ?? '')], [Number(old?.seq) + 1, true]);
});

test('does not seal a log again after its head was reset to the beginning', async () => {
  const target = await startSealed();
  await tamper(
    target,
    'update audit_entries set seq = null, hash = null, previous_hash = null',
    "update audit_heads set seq = 0, hash = '', at = null, key_id = null, signature = null",
  );
  await assert.rejects(target.appliance.features.audit.seal(), { name: 'BrokenChainError', code: 'head-changed' });
});

test('a log without its head is not continued', async () => {
  const target = await startSealed();
  await tamper(target, 'delete from audit_heads');
  await aLoggedInUser(target);
  await assert.rejects(target.appliance.features.audit.seal(), { name: 'BrokenChainError', code: 'head-missing' });
});

test('does not continue a head that has a foreign signature', async () => {
  const target = await startSealed();
  await tamper(target, "update audit_heads set signature = 'AAAA'");
  await aLoggedInUser(target);
  await assert.rejects(target.appliance.features.audit.seal(), { name: 'BrokenChainError', code: 'head-changed' });
});

test('values that were erased are counted, and are no finding', async () => {
  const target = await startSealed();
  const [count] = await runSql(target, 'select count(*) as n from audit_subjects');
  await runSql(target, 'delete from audit_subjects');
  const verdict = await verify(target);
  assert.deepEqual([verdict.findings[0], verdict.erased], [undefined, Number(count?.n)]);
});

test('reports an entry without the HMAC of this installation when it seals it', async () => {
  const target = await startSealed();
  await runSql(target, copyOf(2, 'added', 'null, null, null'));
  await target.appliance.features.audit.seal();
  assert.match(target.log(), /"audit.forged".*"added"|added.*audit.forged/);
});

test('the database refuses changes that the log never makes', async () => {
  const target = await startSealed();
  const last = await sealed(target);
  for (const statement of [
    'delete from audit_entries where seq = 1',
    'delete from audit_heads',
    "update audit_subjects set value = 'x'",
    "update audit_keys set secret = 'x'",
    'delete from audit_keys',
    'update audit_entries set seq = seq + 100',
  ])
    await assert.rejects(runSql(target, statement), { name: 'DatabaseError' }, statement);
  assert.equal((await verify(target)).seq, last);
});

test('an entry whose data are no JSON is listed without them, also for its user', async () => {
  const target = await startSealed();
  const user = await aLoggedInUser(target);
  const key = (await aServerKey(target)).client;
  await target.appliance.features.audit.seal();
  await tamper(target, "update audit_entries set data = 'x'");
  const { entries } = (await key.get('/audit?limit=100')).expect(200).body as { entries: { data: object }[] };
  assert.ok(entries.length >= 9);
  for (const { data } of entries) assert.deepEqual(data, {});
  (await user.client.get('/account/logs')).expect(200);
});

test('a signing key that was changed is found, and nothing is sealed with it', async () => {
  const target = await startSealed();
  await tamper(target, "update audit_keys set secret = 'x'");
  await aLoggedInUser(target);
  await assert.rejects(target.appliance.features.audit.seal(), { name: 'BrokenChainError', code: 'head-changed' });
  const { findings } = await verify(target);
  assert.match(findings[0]?.problem ?? '', /signature of the head/);
});

test('an entry with a number that another one has is found at the end of a page too', async () => {
  const target = await startSealed();
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: '' };
  await target.appliance.runtime.db.work(by, async (unit) => {
    for (let at = 0; at < 1100; at++)
      unit.record('teamCreated', { resource: `teams/${at}`, payload: { name: 'Team' } });
  });
  await target.appliance.features.audit.seal();
  assert.deepEqual((await verify(target)).findings, []);
  await tamper(target, 'drop index audit_entries_seq', copyOf(3, 'zzzz', '1000, previous_hash, hash'));
  const { findings } = await verify(target);
  assert.deepEqual(findings, [{ seq: 1000, problem: 'The entry is there twice.' }]);
});

test('entries that the retention has not removed yet are verified, and none is added in their place', async () => {
  const target = await startSealed({ SVC_AUDIT_DAYS: '30' });
  const { audit, jobs } = target.appliance.features;
  await runSql(target, 'create table kept as select * from audit_entries');
  target.clock.advance(31 * 86_400_000);
  assert.equal((await jobs.run('audit.prune'))?.outcome, 'ok');
  await audit.seal();
  assert.deepEqual((await verify(target)).findings, []);
  const columns =
    'id, project_id, at, actor_kind, actor_id, action, resource, request_id, data, mac, seq, previous_hash, hash';
  // As a job leaves it that was killed after its statement.
  await runSql(target, `insert into audit_entries (${columns}) select ${columns} from kept`);
  assert.deepEqual((await verify(target)).findings, []);
  await tamper(
    target,
    "update audit_entries set resource = 'users/x' where seq = 3",
    'delete from audit_entries where seq = 5',
    copyOf(4, 'added', "5, previous_hash, 'x'"),
  );
  const { findings } = await verify(target);
  assert.deepEqual(
    findings.map(({ seq }) => seq),
    [3, 5, 6],
    JSON.stringify(findings),
  );
});

test('nothing is removed for a statement that this installation has not signed', async () => {
  const target = await startSealed({ SVC_AUDIT_DAYS: '30' });
  const { jobs } = target.appliance.features;
  await tamper(target, statementTo('5'));
  const before = (await rowsOf(target, 'audit_entries')).length;
  assert.equal((await jobs.run('audit.prune'))?.outcome, 'failed');
  assert.equal((await rowsOf(target, 'audit_entries')).length, before);
  assert.match(target.log(), /audit.prune.refused/);
});
