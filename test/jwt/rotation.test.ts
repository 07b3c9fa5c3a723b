// Keys come and go while everybody goes on verifying: two servers on one database, and somebody who keeps the published keys for as long as allowed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { signingKeyLife } from '#src/contract/limits.js';
import { aLoggedInUser, logIn } from '../harness/actors.js';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { day, minute } from '../harness/clock.js';
import { nothing, recordedBy, rowsOf } from '../harness/database.js';
import { openSealed } from '../harness/sealed.js';
import { aBearer, decode, mint } from './setup.js';

const operator = { projectId: 'main', actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
const rotate = ({ appliance, project }: TestAppliance) => appliance.features.signingKeys.rotate(operator, project);
const revoke = ({ appliance, project }: TestAppliance, kid: string) =>
  appliance.features.signingKeys.revoke(operator, project, kid);
const statusOf = ({ appliance, project }: TestAppliance) => appliance.features.signingKeys.status(project);
const statesOf = async (target: TestAppliance, alg: string) =>
  (await statusOf(target)).filter((key) => key.alg === alg).map(({ state }) => state);
const publishedKids = async (target: TestAppliance) =>
  (await createClient(target).get('/keys'))
    .expect(200)
    .list('keys')
    .map(({ kid }) => kid);
const kidOf = (jwt: string) => String(decode(jwt).header.kid);

/** Somebody who verifies by keys that were fetched at most `max-age` ago, and never fetches before. */
function createVerifier(target: TestAppliance) {
  let kept: { keys: JSONWebKeySet; until: number } | undefined;
  return async (jwt: string): Promise<void> => {
    if (kept === undefined || kept.until <= target.clock.now()) {
      const answer = (await createClient(target).get('/keys')).expect(200);
      const [, seconds] = /max-age=(\d+)/.exec(answer.headers.get('Cache-Control') ?? '') ?? [];
      kept = { keys: answer.body as unknown as JSONWebKeySet, until: target.clock.now() + Number(seconds) * 1000 };
    }
    await jwtVerify(jwt, createLocalJWKSet(kept.keys), { currentDate: new Date(target.clock.now()) });
  };
}

test('three rotations: no request is refused, and each old key is gone when its last token has expired', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  const { client } = await aLoggedInUser(first);
  const verifiers = [createVerifier(first), createVerifier(second)];
  const tokens: { jwt: string; alg: string; end: number }[] = [];
  const kids = new Set<string>();
  const round = async (at: number) => {
    for (const alg of ['RS256', 'HS256']) {
      const maker = at % 2 === 0 ? client : createClient(second, { session: await secretOf() });
      const jwt = await mint(maker, { alg, duration: 3600 });
      tokens.push({ jwt, alg, end: first.clock.now() + 3600_000 });
      if (alg === 'RS256') kids.add(kidOf(jwt));
    }
    const alive = tokens.filter(({ end }) => end > first.clock.now() + 1000);
    for (const { jwt, alg } of alive.slice(-40)) {
      for (const server of [first, second]) (await createClient(server, { jwt }).get('/account')).expect(200);
      if (alg === 'RS256') for (const verify of verifiers) await verify(jwt);
    }
  };
  const user = await aLoggedInUser(first);
  const secretOf = async () => user.secret;
  // Every 4.5 minutes, so that the moments of fetching, publishing and changing over fall differently each time.
  for (let at = 0; at < 60; at++) {
    if ([3, 21, 39].includes(at)) await rotate(at === 21 ? second : first);
    await round(at);
    first.clock.advance(4.5 * minute);
  }
  assert.equal(kids.size, 4);
  first.clock.advance((signingKeyLife.overlapSeconds + signingKeyLife.publishSeconds) * 1000);
  const [last, ...others] = await publishedKids(second);
  assert.deepEqual([others, last], [[], [...kids].at(-1)]);
});

test('a key is published before it signs, signs when everybody knows it, and stays until its last token has expired', async () => {
  const target = await startAppliance();
  const { client } = await aLoggedInUser(target);
  const old = kidOf(await mint(client, { alg: 'RS256' }));
  await mint(client);
  const { recorded } = await recordedBy(target, () => rotate(target));
  assert.deepEqual(recorded, { audit: ['keysRotated', 'keysRotated'], events: [], messages: [] });
  const [, next] = await publishedKids(target);
  assert.deepEqual(await publishedKids(target), [old, next]);
  assert.deepEqual(await statesOf(target, 'RS256'), ['next', 'current']);
  assert.equal(kidOf(await mint(client, { alg: 'RS256' })), old);

  target.clock.advance(signingKeyLife.publishSeconds * 1000 - 5000);
  const lastOfOld = await mint(client, { alg: 'RS256', duration: 3600 });
  assert.equal(kidOf(lastOfOld), old);
  target.clock.advance(5000);
  assert.equal(kidOf(await mint(client, { alg: 'RS256' })), next);
  assert.deepEqual(await statesOf(target, 'RS256'), ['current', 'retired']);
  const bearer = createClient(target, { jwt: lastOfOld });
  target.clock.advance(3590_000);
  (await bearer.get('/account')).expect(200);
  assert.ok((await publishedKids(target)).includes(old));
  target.clock.advance((signingKeyLife.overlapSeconds - 3590) * 1000);
  assert.deepEqual(await publishedKids(target), [next]);
  assert.deepEqual(await statesOf(target, 'HS256'), ['current']);
  assert.equal((await rowsOf(target, 'signing_keys')).length, 4);
  const pruned = await recordedBy(target, () => target.appliance.features.jobs.run('keys.rotate'));
  assert.deepEqual([pruned.value?.outcome, pruned.recorded], ['ok', nothing]);
  assert.equal((await rowsOf(target, 'signing_keys')).length, 2);
});

test('a rotation while a successor waits changes nothing', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  await mint((await aLoggedInUser(first)).client);
  await Promise.all([rotate(first), rotate(second), rotate(first)]);
  const before = await statusOf(first);
  assert.deepEqual(before.map(({ alg, state }) => `${alg} ${state}`).sort(), [
    'HS256 current',
    'HS256 next',
    'RS256 current',
  ]);
  await rotate(second);
  const kids = (await statusOf(second)).map(({ kid }) => kid);
  assert.deepEqual(
    before.map(({ kid }) => kid).every((kid) => kids.includes(kid)),
    true,
  );
});

test('two servers that need the first key at once create one, and each accepts tokens of the other from the first request on', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  const users = await Promise.all(Array.from({ length: 4 }, () => aLoggedInUser(first)));
  // Both have looked, and know of no keys.
  for (const server of [first, second])
    (await createClient(server, { jwt: 'e30.e30.e30' }).get('/account')).refused(401, 'user_jwt_invalid');
  for (const alg of ['HS256', 'RS256']) {
    const tokens = await Promise.all(
      users.map(({ secret }, at) => mint(createClient(at % 2 === 0 ? first : second, { session: secret }), { alg })),
    );
    assert.equal(new Set(tokens.map(kidOf)).size, 1);
    for (const jwt of tokens)
      for (const server of [first, second]) (await createClient(server, { jwt }).get('/account')).expect(200);
  }
  assert.equal((await rowsOf(first, 'signing_keys', 'main')).length, 2);
  const made = (await rowsOf(first, 'audit_entries', 'main')).filter(({ action }) => action === 'signingKeyCreated');
  assert.equal(made.length, 2);
});

test('a key that another server has just made is looked for, not refused', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  const user = await aLoggedInUser(first);
  const old = await mint(user.client);
  (await createClient(second, { jwt: old }).get('/account')).expect(200);
  await revoke(first, kidOf(old));
  const jwt = await mint(user.client);
  assert.notEqual(kidOf(jwt), kidOf(old));
  (await createClient(second, { jwt }).get('/account')).expect(200);
});

test('a revoked key is worth nothing at once, and its successor signs', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  for (const [alg, rotated] of [
    ['HS256', false],
    ['RS256', false],
    ['RS256', true],
  ] as const) {
    const user = await aBearer(first, { alg });
    const there = createClient(second, { jwt: user.jwt });
    (await there.get('/account')).expect(200);
    if (rotated) await rotate(first);
    const { recorded } = await recordedBy(first, () => revoke(first, kidOf(user.jwt)));
    const audit = rotated ? ['signingKeyRevoked'] : ['signingKeyCreated', 'signingKeyRevoked'];
    assert.deepEqual(recorded, { audit, events: [], messages: [] });
    (await user.bearer.get('/account')).refused(401, 'user_jwt_invalid');
    first.clock.advance(500);
    (await there.get('/account')).refused(401, 'user_jwt_invalid');
    assert.deepEqual(await statesOf(second, alg), ['current']);
    assert.ok(!(await publishedKids(second)).includes(kidOf(user.jwt)));
    const jwt = await mint(user.client, { alg });
    assert.notEqual(kidOf(jwt), kidOf(user.jwt));
    for (const server of [first, second]) (await createClient(server, { jwt }).get('/account')).expect(200);
  }
  await assert.rejects(revoke(first, 'none'), { type: 'signing_key_not_found' });
});

test('a successor that is revoked before its time leaves the old key as if nothing had been', async () => {
  const target = await startAppliance();
  const user = await aLoggedInUser(target);
  const kid = kidOf(await mint(user.client));
  await rotate(target);
  const next = (await statusOf(target)).find(({ alg, state }) => alg === 'HS256' && state === 'next');
  await revoke(target, next?.kid ?? '');
  target.clock.advance(day);
  assert.equal(kidOf(await mint((await logIn(target, user)).client)), kid);
  const [key] = (await statusOf(target)).filter(({ alg }) => alg === 'HS256');
  assert.deepEqual([key?.state, key?.goneAt], ['current', null]);
});

test('the job gives every project its successors in time, once over all processes, and only if due', async () => {
  const first = await startAppliance();
  const second = await first.startSibling();
  const user = await aLoggedInUser(first);
  const old = kidOf(await mint(user.client));
  await publishedKids(first);
  const run = (target: TestAppliance) => target.appliance.features.jobs.run('keys.rotate');
  first.clock.advance((signingKeyLife.days - 1) * day);
  assert.deepEqual((await recordedBy(first, () => run(first))).recorded, nothing);
  first.clock.advance(day);
  const { recorded } = await recordedBy(first, async () => {
    await Promise.all([run(first), run(second)]);
    await run(second);
  });
  assert.deepEqual(recorded, { audit: ['keysRotated', 'keysRotated'], events: [], messages: [] });
  const { client } = await logIn(first, user);
  assert.equal(kidOf(await mint(client)), old);
  first.clock.advance(signingKeyLife.publishSeconds * 1000);
  const jwt = await mint(client);
  assert.notEqual(kidOf(jwt), old);
  (await createClient(second, { jwt }).get('/account')).expect(200);
  const neighbour = await first.appliance.features.signingKeys.status(first.neighbour);
  assert.deepEqual(neighbour, []);
});

test('a rotation that breaks off has changed nothing', async () => {
  const target = await startAppliance();
  const user = await aBearer(target);
  const before = await rowsOf(target, 'signing_keys');
  const { db } = target.appliance.runtime;
  const { work } = db;
  const broken: typeof work = (by, body) =>
    work(by, async (unit) => {
      await body(unit);
      throw new Error('the process ends before the commit');
    });
  Object.assign(db, { work: broken });
  await assert.rejects(rotate(target), /before the commit/);
  Object.assign(db, { work });
  assert.deepEqual(await rowsOf(target, 'signing_keys'), before);
  (await user.bearer.get('/account')).expect(200);
  await rotate(target);
  assert.deepEqual(await statesOf(target, 'HS256'), ['next', 'current']);
});

test('the private part of a key is sealed and bound to its row', async () => {
  const target = await startAppliance();
  const { client } = await aLoggedInUser(target);
  for (const alg of ['HS256', 'RS256']) await mint(client, { alg });
  const rows = await rowsOf(target, 'signing_keys');
  for (const row of rows) {
    assert.match(String(row.secret), /^v2\.[\w-]+$/);
    assert.doesNotMatch(JSON.stringify(row), /PRIVATE|"d"/);
  }
  const [one, other] = rows;
  const place = ['signing_keys', 'secret', String(one?.kid)] as const;
  openSealed(target, target.project, place, one?.secret);
  assert.throws(() => openSealed(target, target.project, place, other?.secret));
});

test('the age of the oldest key is measured', async () => {
  const target = await startAppliance();
  const { client } = await aLoggedInUser(target);
  await mint(client);
  target.clock.advance(2 * day);
  const { text } = (await createClient(target, { project: null }).get('//metrics')).expect(200);
  const [, age] = /^svc_signing_key_age_seconds\{alg="HS256"\} ([\d.]+)$/m.exec(text) ?? [];
  assert.ok(Number(age) >= 172_800 && Number(age) < 172_900, text.slice(0, 0) + age);
  assert.doesNotMatch(text, /svc_signing_key_age_seconds\{alg="RS256"/);
});
