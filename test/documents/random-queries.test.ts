// Thousands of random lists over HTTP, compared with the evaluator. Both databases get the same data and the same lists from the same
// seed, so what agrees with the evaluator on each agrees between them.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parseJson, printJson } from '#src/platform/text/json.js';
import { startAppliance } from '../harness/appliance.js';
import { runSql } from '../harness/database.js';
import { createEvaluator, decided, type Evaluation, findsText, type Row, type Rules, type Value } from './evaluator.js';
import { type Asked, createGenerator } from './generator.js';
import { createRandom, seed } from './random.js';
import { aDocument, attributes, authors, searched } from './rows.js';
import { aBackend, inParallel, queryString } from './setup.js';

const connections = 12;
const randomLists = 2500;
const totalLimit = 40;
const target = await startAppliance({ settings: { SVC_TOTAL_LIMIT: String(totalLimit) } });
const backend = await aBackend(target);
const collection = await backend.collection({ attributes });
const { key } = backend;
const rows: Row[] = [];
/** What was asked and answered. */
const answered: { readonly asked: Asked; readonly shown: string }[] = [];
const data = { datetimes: ['at', 'moments', '$createdAt', '$updatedAt'], totalLimit };
const whole = ['count', 'rank', 'big', '$sequence'];

/** A document of an answer in the forms of the evaluator. */
function toRow(printed: unknown): Row {
  const row: Record<string, Value> = {};
  for (const [name, value] of Object.entries(printed as Record<string, Value>)) {
    if (whole.includes(name)) row[name] = value === null ? null : BigInt(String(value));
    else if (name === 'numbers') row[name] = Array.isArray(value) ? value.map((one) => BigInt(String(one))) : value;
    else if (name === 'ratio') row[name] = value === null ? null : Number(value);
    else if (name === 'ratios') row[name] = Array.isArray(value) ? value.map(Number) : value;
    else if (name === 'author' && typeof value === 'object' && value !== null) row[name] = authorOf(value);
    else if (!['$permissions', '$collectionId', '$databaseId'].includes(name)) row[name] = value;
  }
  return row;
}

/** The id of a related document that a selection shows, whose name is its id. */
function authorOf(shown: object): string {
  const { $id, name } = shown as Readonly<Record<string, string>>;
  assert.equal(name, $id);
  return String($id);
}

const alwaysShown = ['$id', '$sequence', '$createdAt', '$updatedAt'];
const text = (value: unknown) =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : inner));
const showRow = (row: Row) => text(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
const showPage = (total: number, page: readonly Row[]) => [`total ${total}`, ...page.map(showRow)].join('\n');

function show(evaluation: Evaluation): string {
  if ('error' in evaluation) return evaluation.error;
  const { total, rows: page, keys } = evaluation;
  const only = (row: Row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => keys?.includes(name) || alwaysShown.includes(name)));
  return showPage(total, keys === null ? page : page.map(only));
}

async function list({ queries, total }: Asked): Promise<string> {
  const { text: body } = await key.get(`${collection.documents}${queryString(queries, { total })}`);
  const answer = parseJson(body) as { total: number; documents: unknown[]; type?: string };
  return answer.type ?? showPage(answer.total, answer.documents.map(toRow));
}

/** The first line that differs; all of them would fill screens. */
function difference(shown: string, expected: string): string {
  const [left, right] = [shown.split('\n'), expected.split('\n')];
  const at = left.findIndex((line, index) => line !== right[index]);
  const from = at < 0 ? left.length : at;
  return `line ${from} of ${left.length}: ${left[from]}\nexpected, of ${right.length}: ${right[from]}`;
}

/** Asks for lists on several connections and compares every answer. */
async function compare(asked: readonly Asked[]): Promise<void> {
  const evaluate = createEvaluator(rows, data);
  await inParallel(
    connections,
    asked.map((each) => async () => {
      const shown = await list(each);
      const expected = show(evaluate(each.queries, each.total));
      if (shown !== expected)
        assert.fail(`seed ${seed}: ${each.total} ${printJson(each.queries)}\n${difference(shown, expected)}`);
      answered.push({ asked: each, shown });
    }),
  );
}

/** Gives three of four rows the instant of the one before: two documents are rarely made in the same millisecond. */
async function shareInstants(): Promise<void> {
  const [{ number } = { number: null }] = await runSql(target, 'select number from collections where id = ?', [
    collection.id,
  ]);
  for (const [at, row] of rows.entries()) {
    const $createdAt = rows[at - 1]?.$createdAt;
    if (at % 4 === 0 || typeof $createdAt !== 'string') continue;
    await runSql(target, `update d_${number} set created_at = ?, shape = '' where id = ?`, [
      $createdAt,
      String(row.$id),
    ]);
    rows[at] = { ...row, $createdAt };
  }
}

before(async () => {
  const random = createRandom(seed);
  for (const [name, keys, orders] of [
    ['by-rank', ['rank', 'word'], ['DESC', 'ASC']],
    ['by-title', ['title'], ['ASC']],
    ['by-count', ['count'], ['ASC']],
  ] as const)
    (await key.post(collection.indexes, { key: name, type: 'key', attributes: keys, orders })).expect(202);
  for (const name of searched)
    (await key.post(collection.indexes, { key: `words-${name}`, type: 'fulltext', attributes: [name] })).expect(202);
  const related = await backend.collection({ attributes: { name: { type: 'string', size: 10 } } });
  for (const documentId of authors)
    (await key.post(related.documents, { documentId, data: { name: documentId } })).expect(201);
  const relationship = { relatedCollectionId: related.id, type: 'manyToOne', key: 'author' };
  (await key.post(`${collection.attributes}/relationship`, relationship)).expect(202);
  for (let at = 0; at < 120; at++) {
    // Ids in another order than rows, and often the same instant for several.
    const documentId = `${random.pick(['a', 'B', 'b', 'Z'])}${random.below(2 ** 31)}-${at}`;
    const author = random.chance(0.2) ? null : random.pick(authors);
    const body = printJson({ documentId, data: { ...aDocument(random), author } });
    rows.push(toRow(parseJson((await key.post(collection.documents, body)).expect(201).text)));
    if (random.chance(0.3)) target.clock.advance(random.below(5000));
  }
  for (const [at, row] of rows.entries()) {
    if (!random.chance(0.3)) continue;
    const changed = await key.patch(`${collection.documents}/${row.$id}`, printJson({ data: aDocument(random) }));
    rows[at] = toRow(parseJson(changed.expect(200).text));
  }
  await shareInstants();
});

test('a cursor at each row, in both directions and several orders', async () => {
  const orders = [
    [],
    ['rank'],
    ['-word', 'rank'],
    ['-count'],
    ['flag', '-ratio', 'at'],
    ['-$updatedAt'],
    ['-$createdAt', 'word'],
  ];
  const asked = orders.flatMap((order) =>
    rows.flatMap(({ $id }) =>
      ['cursorAfter', 'cursorBefore'].map((method): Asked => {
        const ordered = order.map((name) => ({
          method: name.startsWith('-') ? 'orderDesc' : 'orderAsc',
          attribute: name.replace('-', ''),
        }));
        return { queries: [...ordered, { method, values: [$id] }, { method: 'limit', values: [7] }], total: 'false' };
      }),
    ),
  );
  await compare(asked);
});

test(`random lists, seed ${seed}`, async (t) => {
  const generate = createGenerator(createRandom(seed + 1), rows);
  const started = performance.now();
  await compare(Array.from({ length: randomLists }, generate));
  t.diagnostic(`${randomLists} lists in ${((performance.now() - started) / 1000).toFixed(1)} s, seed ${seed}`);
});

const mistakes: Record<string, Partial<Rules>> = {
  'nulls come last ascending': { nullBeside: 1 },
  'notEqual finds nulls': { nullDiffers: true },
  'text matches ignore the case of every letter': {
    finds: (method, value, part) => findsText(method, value.toLowerCase(), part.toLowerCase()),
  },
  'text matches heed the case': { finds: findsText },
  'text is ordered by UTF-16': { compare: (a, b) => (a < b ? -1 : a > b ? 1 : 0) },
  'whole numbers are rounded to doubles': {
    compare: (a, b) => (typeof a === 'bigint' ? Number(a) - Number(b) : decided.compare(a, b)),
  },
  'between excludes its bounds': { within: (low, high) => low > 0 && high < 0 },
  'only the first of several values counts': { accepted: (values) => values.slice(0, 1) },
  'arrays contain parts of elements': {
    has: (list, value) => list.some((one) => String(one).includes(String(value))),
  },
  'one word of several is enough': { hasWords: (words, wanted) => [...wanted].some((word) => words.has(word)) },
  'a search without words finds everything': {
    hasWords: (words, wanted) => [...wanted].every((word) => words.has(word)),
  },
  'the tie-break follows every leading order': { tieDescending: (first) => first?.descending === true },
  'the tie-break is always ascending': { tieDescending: () => false },
  'one row too many': { page: (all, offset, limit) => all.slice(offset, offset + limit + 1) },
  'the offset is one off': { page: (all, offset, limit) => all.slice(offset + 1, offset + 1 + limit) },
  'the page before a cursor comes backwards': { backwards: (page) => page },
  'the total knows no limit': { count: (matching) => matching },
};

for (const [name, mistake] of Object.entries(mistakes)) {
  test(`a mistake is noticed: ${name}`, () => {
    const evaluate = createEvaluator(rows, data, { ...decided, ...mistake });
    const noticed = answered.some(({ asked, shown }) => show(evaluate(asked.queries, asked.total)) !== shown);
    assert.ok(noticed, `${answered.length} answers agree with a wrong evaluator`);
  });
}
