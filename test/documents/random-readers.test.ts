// Random permissions on documents: what each caller gets in a list, filtered and paged, is what the evaluator finds among the documents
// that the rules let the caller read. Then a member loses a role.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { allowed, type Caller, crew, someCallers } from './callers.js';
import { graphqlCalls, restCalls } from './calls.js';
import { createEvaluator, type Row, type WireQuery } from './evaluator.js';
import { createRandom, seed } from './random.js';
import { aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const callers = await someCallers(target);
const random = createRandom(seed);
const collection = await aCollection({ documentSecurity: true, attributes: { n: { type: 'integer' } } });
const rules = { collection: [], documentSecurity: true };
const grantable = [
  ...new Set(Object.values(callers).flatMap(({ roles }) => roles ?? [])),
  'team:other',
  'label:silver',
];
/** Documents as the evaluator takes them, with their permissions. */
const rows: (Row & { readonly $permissions: readonly string[] })[] = [];

for (let at = 0; at < 80; at++) {
  const given = Array.from({ length: random.below(3) }, () => random.pick(grantable));
  const permissions = [...new Set(given)].map((role) => `${random.chance(0.8) ? 'read' : 'update'}("${role}")`);
  const row = { $id: `d${at}`, n: random.below(9), $sequence: at, $permissions: permissions };
  (await key.post(collection.documents, { documentId: row.$id, data: { n: row.n }, permissions })).expect(201);
  rows.push(row);
}

function someQueries(): WireQuery[] {
  const queries: WireQuery[] = [{ method: 'limit', values: [1 + random.below(80)] }];
  if (random.chance(0.5)) queries.push({ method: 'greaterThan', attribute: 'n', values: [random.below(9)] });
  if (random.chance(0.5)) queries.push({ method: 'orderDesc', attribute: 'n' });
  if (random.chance(0.3)) queries.push({ method: 'offset', values: [random.below(9)] });
  return queries;
}

/** Asks for lists as a caller and compares each; returns how many documents the caller may read at all. */
async function compare(caller: Caller): Promise<number> {
  const readable = rows.filter(({ $permissions }) => allowed(caller, 'read', { ...rules, document: $permissions }));
  const evaluate = createEvaluator(readable, { datetimes: [], totalLimit: 5_000 });
  for (let round = 0; round < 12; round++) {
    const queries = someQueries();
    const expected = evaluate(queries, 'true');
    assert.ok(!('error' in expected));
    const ids = expected.rows.map(({ $id }) => $id);
    for (const calls of [restCalls(collection), graphqlCalls(collection)]) {
      const seen = await calls.list(caller.client, queries);
      const what = `seed ${seed}: ${caller.name} ${JSON.stringify(queries)}`;
      assert.deepEqual([seen.type, seen.total, seen.ids], ['ok', expected.total, ids], what);
    }
  }
  return readable.length;
}

test(`lists of everybody, seed ${seed}`, async () => {
  const { weakKey: _, ...readers } = callers;
  const counts = [];
  for (const caller of Object.values(readers)) counts.push(await compare(caller));
  assert.ok(new Set(counts).size >= 4, counts.join());
});

test('and for a member who has lost a role, and then the team', async () => {
  const { mia, bob } = callers;
  const membership = mia.roles?.find((role) => role.startsWith('member:'))?.slice('member:'.length);
  const path = `/teams/${crew}/memberships/${membership}`;
  const before = await compare(mia);
  (await bob.client.patch(path, { roles: ['cook'] })).expect(200);
  const without = (lost: (role: string) => boolean) => ({
    ...mia,
    roles: (mia.roles ?? []).filter((role) => !lost(role)),
  });
  const between = await compare(without((role) => role === `team:${crew}/night shift`));
  (await bob.client.delete(path)).expect(204);
  const after = await compare(without((role) => /^(team|member):/.test(role)));
  assert.ok(before > between && between > after, [before, between, after].join());
});
