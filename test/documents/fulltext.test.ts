// Fulltext indexes and the queries `search` and `notSearch`: what a word is, what keeps the words of documents, and who finds them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordLimits } from '#src/contract/limits.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { createRandom, seed } from './random.js';
import { aBackend, queryString, type TestCollection } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const text = { type: 'string', size: 2_000_000 };
const fulltext = (attribute: string) => ({ key: `words-${attribute}`, type: 'fulltext', attributes: [attribute] });
const search = (words: string, method = 'search', attribute = 'text') => ({ method, attribute, values: [words] });

/** A collection with text that has a fulltext index. */
async function searchable(given: Parameters<typeof aCollection>[0] = {}): Promise<TestCollection> {
  const collection = await aCollection({ attributes: { text, other: text, n: { type: 'integer' } }, ...given });
  const { body } = (await key.post(collection.indexes, fulltext('text'))).expect(202);
  assert.equal(body.status, 'available');
  return collection;
}

async function idsOf(documents: string, queries: readonly object[], client: Client = key): Promise<string[]> {
  const answer = (await client.get(documents + queryString(queries))).expect(200);
  return answer.list('documents').map(({ $id }) => String($id));
}

const create = async (documents: string, texts: Readonly<Record<string, string | null>>, rest: object = {}) => {
  for (const [documentId, value] of Object.entries(texts))
    (await key.post(documents, { documentId, data: { text: value, ...rest } })).expect(201);
};

test('search finds all words, in any order and case, and nothing but whole words', async () => {
  const { documents } = await searchable();
  await create(documents, {
    a: 'The quick brown fox – jumps!',
    b: 'A QUICK_fox, and 7 dogs',
    c: 'foxes are quicker',
    d: null,
    e: '',
    f: 'Straße ΟΔΟΣ ΟΔΟΣ.ΑΒ café i̇stanbul',
    g: '漢字 かな 😀 x😀y',
    h: 'AND OR NOT NEAR "quoted" col:on (paren) *star ^hat {brace} -minus +plus a\\b \'tick\' ; drop % _ ? $1 fts5',
  });
  for (const [words, found] of [
    ['fox', ['a', 'b']],
    ['FOX Quick', ['a', 'b']],
    ['quick brown  fox', ['a']],
    ['brown fox dogs', []],
    ['qui', []],
    ['7', ['b']],
    ['STRASSE', ['f']],
    ['οδος', ['f']],
    ['οδοσ αβ', ['f']],
    ['cafe\u0301', ['f']],
    ['cafe', []],
    ['CAFÉ', ['f']],
    ['İSTANBUL', ['f']],
    ['漢字', ['g']],
    ['漢', []],
    ['x y', ['g']],
    ['😀', []],
    ['', []],
    [' !"*', []],
    ['and or not near', ['h']],
    ['AND', ['b', 'h']],
    ['"quoted" col:on', ['h']],
    ['(paren) NOT near* ^hat', ['h']],
    ["'tick' | drop", ['h']],
    ['a\\b', ['h']],
    ['$2 ?', []],
    ['1', ['h']],
    ['rowid', []],
    ['words:fox', []],
  ] as const) {
    assert.deepEqual((await idsOf(documents, [search(words)])).sort(), found, words);
    const others = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].filter((id) => !(found as readonly string[]).includes(id));
    assert.deepEqual((await idsOf(documents, [search(words, 'notSearch')])).sort(), others, words);
  }
});

test('search needs a fulltext index on exactly that attribute, and one value of text', async () => {
  const { documents, indexes } = await searchable();
  await create(documents, { a: 'fox' }, { other: 'fox', n: 1 });
  for (const query of [
    search('fox', 'search', 'other'),
    search('fox', 'notSearch', 'other'),
    search('fox', 'search', 'n'),
    search('fox', 'search', '$id'),
    search('fox', 'search', 'none'),
    { method: 'search', attribute: 'text', values: [] },
    { method: 'search', attribute: 'text', values: ['a', 'b'] },
    { method: 'search', attribute: 'text', values: [1] },
    search('a\0b'),
    search('\ud800'),
  ])
    (await key.get(documents + queryString([query]))).refused(400, 'general_query_invalid');
  const words = Array.from({ length: 501 }, (_, at) => at.toString(36));
  (await key.get(documents + queryString([search(words.join('-'))]))).refused(400, 'general_query_limit_exceeded');
  assert.deepEqual(await idsOf(documents, [search(words.slice(1).join('-'))]), []);
  (await key.delete(`${indexes}/words-text`)).expect(204);
  (await key.get(documents + queryString([search('fox')]))).refused(400, 'general_query_invalid');
});

test('a fulltext index has one attribute of text, and an attribute one of them', async () => {
  const strings = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`s${at}`, { type: 'string', size: 9000 }]));
  const { indexes, attributes, documents } = await aCollection({
    attributes: { ...strings, n: { type: 'integer' }, list: { type: 'string', size: 9, array: true } },
  });
  const make = (name: string, given: readonly string[]) =>
    key.post(indexes, { key: name, type: 'fulltext', attributes: given });
  for (const wrong of [['n'], ['list'], ['s0', 's1']]) (await make('x', wrong)).refused(400, 'index_invalid');
  (await make('x', ['no'])).refused(400, 'attribute_unknown');
  const made = (await make('i0', ['s0'])).expect(202).body;
  assert.deepEqual([made.type, made.status, made.error, made.attributes], ['fulltext', 'available', '', ['s0']]);
  (await make('x', ['s0'])).refused(400, 'index_invalid');
  for (let at = 1; at < 10; at++) (await make(`i${at}`, [`s${at}`])).expect(202);
  (await make('x', ['s10'])).refused(400, 'index_limit_exceeded');
  (await key.delete(`${attributes}/s9`)).expect(204);
  (await key.get(`${indexes}/i9`)).refused(404, 'index_not_found');
  // The index follows the attribute to its new name.
  (await key.patch(`${attributes}/string/s0`, { required: false, default: null, newKey: 'renamed' })).expect(200);
  (await key.post(documents, { documentId: 'a', data: { renamed: 'one two' } })).expect(201);
  assert.deepEqual(await idsOf(documents, [search('two', 'search', 'renamed')]), ['a']);
});

test('every write keeps the words of its documents in its own unit', async () => {
  const { documents } = await searchable();
  const found = async (words: string) => (await idsOf(documents, [search(words)])).sort();
  await create(documents, { a: 'first', b: 'first', c: 'first' });
  (await key.patch(`${documents}/a`, { data: { text: 'second' } })).expect(200);
  (await key.patch(`${documents}/b`, { data: { n: 5 } })).expect(200);
  (await key.patch(`${documents}/b/n/increment`, { value: 2 })).expect(200);
  (await key.put(`${documents}/c`, { data: { text: null } })).expect(200);
  (await key.put(`${documents}/d`, { data: { text: 'first put' } })).expect(200);
  assert.deepEqual([await found('first'), await found('second')], [['b', 'd'], ['a']]);

  (await key.post(documents, { documents: ['e', 'f', 'g'].map(($id) => ({ $id, text: `bulk ${$id}` })) })).expect(201);
  const upserted = [
    { $id: 'e', text: 'upserted' },
    { $id: 'h', text: 'upserted' },
  ];
  (await key.put(documents, { documents: upserted })).expect(200);
  assert.deepEqual(
    [await found('bulk'), await found('upserted')],
    [
      ['f', 'g'],
      ['e', 'h'],
    ],
  );
  const queries = [JSON.stringify(search('bulk'))];
  (await key.patch(documents, { data: { text: 'changed together' }, queries })).expect(200);
  assert.deepEqual([await found('bulk'), await found('changed')], [[], ['f', 'g']]);
  (await key.request('DELETE', documents, { queries: [JSON.stringify(search('changed'))] })).expect(200);
  (await key.delete(`${documents}/a`)).expect(204);
  assert.deepEqual([await found('changed'), await found('second')], [[], []]);

  // A unit that is refused leaves no words; an id that comes again has its own.
  (
    await key.post(documents, {
      documents: [
        { $id: 'i', text: 'refused' },
        { $id: 'b', text: 'refused' },
      ],
    })
  ).refused(409, 'document_already_exists');
  assert.deepEqual(await found('refused'), []);
  await create(documents, { a: 'again' });
  assert.deepEqual([await found('again'), await found('second')], [['a'], []]);
  const together = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      key.post(documents, { documentId: `t${at}`, data: { text: `together w${at % 2}` } }),
    ),
  );
  for (const answer of together) answer.expect(201);
  assert.equal((await found('w1 together')).length, 10);
});

test('a search omits documents that the caller may not read; pages, orders, totals and cursors are those of any list', async () => {
  const { documents } = await searchable({ documentSecurity: true, permissions: [] });
  const { client, id: reader } = await aLoggedInUser(target);
  for (let at = 0; at < 12; at++)
    (
      await key.post(documents, {
        documentId: `d${at}`,
        data: { text: `word w${at % 2}`, n: at % 5 },
        permissions: at % 3 === 0 ? [] : [`read("user:${reader}")`],
      })
    ).expect(201);
  const mine = ['d1', 'd5', 'd7', 'd11'];
  assert.deepEqual(await idsOf(documents, [search('w1')], client), mine);
  assert.deepEqual(await idsOf(documents, [search('w1', 'notSearch')], client), ['d2', 'd4', 'd8', 'd10']);
  assert.equal((await idsOf(documents, [search('w1')])).length, 6);
  const order = [search('word w1'), { method: 'orderDesc', attribute: 'n' }];
  assert.deepEqual(await idsOf(documents, order, client), ['d7', 'd1', 'd11', 'd5']);
  const after = { method: 'cursorAfter', values: ['d1'] };
  assert.deepEqual(await idsOf(documents, [...order, after], client), ['d11', 'd5']);
  const before = { method: 'cursorBefore', values: ['d11'] };
  assert.deepEqual(await idsOf(documents, [...order, before, { method: 'limit', values: [1] }], client), ['d1']);
  const page = [...order, { method: 'limit', values: [1] }, { method: 'offset', values: [2] }];
  const answer = (await client.get(documents + queryString(page))).expect(200);
  assert.deepEqual([answer.body.total, answer.list('documents').map(({ $id }) => $id)], [4, ['d11']]);
  const either = { method: 'or', values: [search('w0'), { method: 'equal', attribute: '$id', values: ['d1'] }] };
  assert.deepEqual(await idsOf(documents, [either], client), ['d1', 'd2', 'd4', 'd8', 'd10']);
  const contained = [search('w1'), { method: 'contains', attribute: 'text', values: ['RD W'] }];
  assert.deepEqual(await idsOf(documents, contained, client), mine);
});

test('long texts and long words are found, and too many different words are refused', async () => {
  const { documents, indexes } = await searchable();
  const long = 'a'.repeat(100_000);
  const many = Array.from({ length: 10_000 }, (_, at) => `w${at}`).join(' ');
  const sentence = '字'.repeat(300);
  await create(documents, {
    long: `${long}b c`,
    many,
    million: 'lorem ipsum '.repeat(83_333),
    sentence: `${sentence}。x`,
  });
  assert.deepEqual(await idsOf(documents, [search('w9999 w0')]), ['many']);
  assert.deepEqual(await idsOf(documents, [search('ipsum')]), ['million']);
  assert.deepEqual(await idsOf(documents, [search(sentence)]), ['sentence']);
  assert.deepEqual(await idsOf(documents, [search(sentence.slice(1))]), []);
  assert.deepEqual(await idsOf(documents, [search('a'.repeat(4000))]), []);
  const tooMany = Array.from({ length: wordLimits.words + 1 }, (_, at) => `w${at}`).join(' ');
  (await key.post(documents, { documentId: 'x', data: { text: tooMany } })).refused(400, 'document_invalid_structure');
  (await key.patch(`${documents}/many`, { data: { text: tooMany } })).refused(400, 'document_invalid_structure');
  // The most words, each as long as it can be.
  const most = Array.from({ length: wordLimits.words }, (_, at) => `${at}`.padStart(wordLimits.bytes, 'x')).join(' ');
  await create(documents, { most });
  assert.deepEqual(await idsOf(documents, [search('7'.padStart(wordLimits.bytes, 'X'))]), ['most']);

  // Such a document that is there before the index keeps it from being built; without it the index can be.
  (await key.post(documents, { documentId: 'y', data: { other: tooMany } })).expect(201);
  const failed = (await key.post(indexes, fulltext('other'))).expect(202).body;
  assert.deepEqual([failed.status, /different words in other/.test(String(failed.error))], ['failed', true]);
  (await key.get(documents + queryString([search('w1', 'search', 'other')]))).refused(400, 'general_query_invalid');
  (await key.patch(`${documents}/y`, { data: { other: tooMany } })).expect(200);
  (await key.delete(`${indexes}/words-other`)).expect(204);
  (await key.delete(`${documents}/y`)).expect(204);
  assert.equal((await key.post(indexes, fulltext('other'))).expect(202).body.status, 'available');
});

test(`search agrees with a plain evaluation, seed ${seed}`, async () => {
  const random = createRandom(seed);
  const { documents, indexes } = await aCollection({ attributes: { text, n: { type: 'integer' } } });
  const pieces = [
    'one',
    'Two',
    'TWO',
    'drei',
    'éé',
    'e\u0301é',
    'ß',
    'SS',
    '12',
    '漢',
    '😀',
    '-',
    '_',
    '"',
    ' ',
    '. ',
    'one-two',
  ];
  const some = (most: number) =>
    Array.from({ length: 1 + random.below(most) }, () => pieces[random.below(pieces.length)]).join(
      random.chance(0.7) ? ' ' : '',
    );
  const texts = new Map<string, string | null>();
  const write = async (count: number) => {
    for (let at = 0; at < count; at++) {
      const documentId = `d${random.below(60)}`;
      if (random.chance(0.15)) {
        await key.delete(`${documents}/${documentId}`);
        texts.delete(documentId);
        continue;
      }
      const value = random.chance(0.1) ? null : some(6);
      (await key.put(`${documents}/${documentId}`, { data: { text: value } })).expect(200);
      texts.set(documentId, value);
    }
  };
  await write(60);
  (await key.post(indexes, fulltext('text'))).expect(202);
  await write(60);
  /** Written for itself: another way to the same words. */
  const plain = (value: string): Set<string> => {
    const words = new Set<string>();
    let word = '';
    for (const character of `${value.normalize('NFC')} `) {
      if (/\p{L}|\p{M}|\p{N}/u.test(character)) word += character;
      else if (word !== '') {
        words.add(word.toUpperCase().toLowerCase());
        word = '';
      }
    }
    return words;
  };
  for (let round = 0; round < 150; round++) {
    const words = some(3);
    const wanted = [...plain(words)];
    const expected = [...texts].filter(([, value]) => {
      const held = plain(value ?? '');
      return wanted.length > 0 && wanted.every((word) => held.has(word));
    });
    const limit = { method: 'limit', values: [100] };
    const found = await idsOf(documents, [search(words), limit]);
    assert.deepEqual(found.sort(), expected.map(([id]) => id).sort(), JSON.stringify(words));
    const rest = [...texts.keys()].filter((id) => !found.includes(id));
    assert.deepEqual((await idsOf(documents, [search(words, 'notSearch'), limit])).sort(), rest.sort());
  }
});
