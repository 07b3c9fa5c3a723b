// Lists of callers who see many documents, few, or none, found by whichever route is the cheaper one, against the plain evaluation: orders by
// every time and by an attribute, with ties and a clock that goes back, filters with and without an index, pages, cursors and totals below
// and above the limit. Then the same while permissions change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { allowed, type Caller, someCallers } from './callers.js';
import { graphqlCalls, restCalls } from './calls.js';
import { createEvaluator, type Row, type WireQuery } from './evaluator.js';
import { createRandom, seed } from './random.js';
import { aBackend, queryString } from './setup.js';

const totalLimit = 60;
const documents = 420;
const lists = Number(process.env.SVC_TEST_LISTS ?? 5_200);

const target = await startAppliance({ settings: { SVC_TOTAL_LIMIT: String(totalLimit) } });
const { key, collection: aCollection } = await aBackend(target);
const { weakKey: _, key: __, ...callers } = await someCallers(target);
const random = createRandom(seed);
const attributes = { n: { type: 'integer' }, tag: { type: 'string', size: 20 } };
const collection = await aCollection({ documentSecurity: true, attributes });
(await key.post(collection.indexes, { key: 'by_tag', type: 'key', attributes: ['tag'], orders: ['ASC'] })).expect(202);
const rules = { collection: [], documentSecurity: true };

type Document = Row & { readonly $permissions: readonly string[] };
const rows = new Map<string, Document>();
const keep = (body: Record<string, unknown>): void => {
  const { $id, $createdAt, $updatedAt, $sequence, $permissions, n, tag } = body as never as Document;
  rows.set(String($id), {
    $id,
    $createdAt,
    $updatedAt,
    $sequence: Number($sequence),
    $permissions,
    n,
    tag,
  } as Document);
};

/** Some roles are named by nearly every document, most by a few, and some documents by nobody. */
const common = ['users', 'label:gold'];
const rare = [...new Set(Object.values(callers).flatMap(({ roles }) => roles ?? []))].filter(
  (role) => !['any', 'users'].includes(role),
);
const somePermissions = (): string[] => {
  const roles = [
    ...(random.chance(0.6) ? [random.pick(common)] : []),
    ...Array.from({ length: random.below(3) }, () => random.pick(rare)),
    ...(random.chance(0.05) ? ['any'] : []),
  ];
  return [...new Set(roles)].map((role) => `${random.chance(0.85) ? 'read' : 'update'}("${role}")`);
};

for (let at = 0; at < documents; at += 20) {
  if (random.chance(0.3)) target.clock.step((random.chance(0.5) ? -1 : 1) * random.below(3_600_000));
  const data = () => ({ n: random.chance(0.1) ? null : random.below(9), tag: `t${random.below(12)}` });
  const made = Array.from({ length: 20 }, (_, next) => ({
    documentId: `d${at + next}`,
    data: data(),
    permissions: somePermissions(),
  }));
  for (const created of await Promise.all(made.map((body) => key.post(collection.documents, body))))
    keep(created.expect(201).body);
}

function someQueries(readable: readonly Document[]): WireQuery[] {
  const queries: WireQuery[] = [{ method: 'limit', values: [1 + random.below(40)] }];
  const order = random.pick(['$createdAt', '$createdAt', '$updatedAt', '$sequence', 'n', 'tag', '']);
  if (order !== '') queries.push({ method: random.chance(0.6) ? 'orderDesc' : 'orderAsc', attribute: order });
  if (order === '$createdAt' && random.chance(0.2)) queries.push({ method: 'orderAsc', attribute: '$sequence' });
  if (random.chance(0.25)) queries.push({ method: 'greaterThan', attribute: 'n', values: [random.below(9)] });
  if (random.chance(0.25)) queries.push({ method: 'equal', attribute: 'tag', values: [`t${random.below(13)}`] });
  if (random.chance(0.2)) queries.push({ method: 'offset', values: [random.below(50)] });
  if (random.chance(0.4) && readable.length > 0)
    queries.push({
      method: random.chance(0.7) ? 'cursorAfter' : 'cursorBefore',
      values: [random.pick(readable).$id],
    });
  return queries;
}

const seenBy = (caller: Caller) =>
  [...rows.values()].filter(({ $permissions }) => allowed(caller, 'read', { ...rules, document: $permissions }));

async function compare(caller: Caller, count: number): Promise<void> {
  const readable = seenBy(caller);
  const evaluate = createEvaluator(readable, { datetimes: [], totalLimit });
  const graphql = graphqlCalls(collection);
  const rest = restCalls(collection);
  for (let round = 0; round < count; round++) {
    const queries = someQueries(readable);
    const total = random.pick(['true', 'true', 'false', 'exact'] as const);
    const expected = evaluate(queries, total);
    assert.ok(!('error' in expected));
    const filtered = evaluate(
      queries.filter(({ method }) => !/cursor|offset|limit/.test(method)),
      'exact',
    );
    assert.ok(!('error' in filtered));
    const counted = total === 'false' ? 0 : total === 'exact' ? filtered.total : Math.min(filtered.total, totalLimit);
    const what = `seed ${seed}: ${caller.name} ${total} ${JSON.stringify(queries)}`;
    const ids = expected.rows.map(({ $id }) => $id);
    const answer = (await caller.client.get(`${collection.documents}${queryString(queries)}&total=${total}`)).expect(
      200,
    );
    const seen = [answer.body.total, answer.list('documents').map(({ $id }) => $id)];
    assert.deepEqual(seen, [counted, ids], what);
    if (round % 10 > 0) continue;
    for (const calls of [rest, graphql]) {
      const found = await calls.list(caller.client, queries);
      assert.deepEqual([found.type, found.total, found.ids], ['ok', Math.min(filtered.total, totalLimit), ids], what);
    }
  }
}

test(`${lists} lists of everybody, seed ${seed}`, async () => {
  const everybody = Object.values(callers);
  const counts = everybody.map((caller) => seenBy(caller).length);
  assert.ok(Math.min(...counts) < totalLimit && Math.max(...counts) > totalLimit, counts.join());
  const each = Math.ceil(lists / everybody.length / 2);
  await Promise.all(everybody.map((caller) => compare(caller, each)));
  // Permissions and values change, documents go, and what was counted of the roles grows old: the lists are right at once, and later.
  for (const id of [...rows.keys()].filter(() => random.chance(0.3))) {
    const path = `${collection.documents}/${id}`;
    if (random.chance(0.3)) {
      (await key.delete(path)).expect(204);
      rows.delete(id);
    } else
      keep((await key.patch(path, { data: { n: random.below(9) }, permissions: somePermissions() })).expect(200).body);
  }
  await Promise.all(everybody.map((caller) => compare(caller, each / 2)));
  target.clock.advance(61_000);
  await Promise.all(everybody.map((caller) => compare(caller, each / 2)));
});

test('a server key gets the exact number of documents', async () => {
  assert.equal(
    (await key.get(`${collection.documents}?queries[0]=${JSON.stringify({ method: 'limit', values: [1] })}`)).body
      .total,
    rows.size,
  );
});
