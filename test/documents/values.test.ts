// What attributes of each type take, and how it comes back: bounds, defaults, required ones, arrays, 64 bits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printJson } from '#src/platform/text/json.js';
import { startAppliance } from '../harness/appliance.js';
import { type AttributeGiven, aBackend } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const largest = 2n ** 63n - 1n;
const smallest = -(2n ** 63n);

interface Case {
  readonly attribute: AttributeGiven;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

const cases: Readonly<Record<string, Case>> = {
  string: {
    attribute: { type: 'string', size: 3 },
    good: ['', 'abc', '😀😀😀', 'e\u0301x', '\u0001\u2028"', '\\%_', null],
    bad: ['abcd', '😀😀😀😀', 1, true, ['a'], {}],
  },
  varchar: { attribute: { type: 'varchar', size: 2 }, good: ['', '😀😀', 'e\u0301', null], bad: ['abc', 1, ['a']] },
  text: { attribute: { type: 'text' }, good: ['x'.repeat(16_383), null], bad: ['x'.repeat(16_384), 1] },
  mediumtext: { attribute: { type: 'mediumtext' }, good: ['x'.repeat(16_384), 'é\n'], bad: [true] },
  longtext: { attribute: { type: 'longtext' }, good: ['x'.repeat(16_384), 'é\n'], bad: [true] },
  bigint: {
    attribute: { type: 'bigint', min: smallest + 1n },
    good: [largest, smallest + 1n, 0, null],
    bad: [largest + 1n, smallest, 0.5, '1'],
  },
  integer: {
    attribute: { type: 'integer' },
    good: [0, -1, largest, smallest, largest - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, null],
    bad: [largest + 1n, smallest - 1n, 0.5, '1', true, [1], 1e300],
  },
  'bounded integer': {
    attribute: { type: 'integer', min: largest - 2n, max: largest - 1n },
    good: [largest - 2n, largest - 1n],
    bad: [largest, largest - 3n, 0],
  },
  float: {
    attribute: { type: 'float' },
    good: [0, 0.1 + 0.2, 1e300, -1e300, 5e-324, 1.7976931348623157e308, 1 / 3, 123456789.12345679, 2 ** 70, null],
    bad: ['0.1', true, [0.1], {}],
  },
  'bounded float': { attribute: { type: 'float', min: -0.5, max: 0.5 }, good: [-0.5, 0.5, 0], bad: [0.51, -1] },
  boolean: { attribute: { type: 'boolean' }, good: [true, false, null], bad: [0, 1, 'true', [true]] },
  email: {
    attribute: { type: 'email' },
    good: ['a+b@mail.example', null],
    bad: ['a', 'a@', '', 1, 'a b@mail.example'],
  },
  url: {
    attribute: { type: 'url' },
    good: ['https://a.example/?q=%20#x', 'http://localhost:1', null],
    bad: ['a', 'javascript:alert(1)', 'ftp://a.example', '', 1],
  },
  ip: { attribute: { type: 'ip' }, good: ['127.0.0.1', '::1', '2001:db8::1', null], bad: ['1.2.3', '', 'x', 1] },
  enum: { attribute: { type: 'enum', elements: ['a', 'B é'] }, good: ['a', 'B é', null], bad: ['b é', '', 'A', 1] },
  'array of strings': {
    attribute: { type: 'string', size: 2, array: true },
    good: [[], ['a', '', '😀'], ['"', '\\'], null],
    bad: ['a', ['abc'], [1], [null], [['a']], {}],
  },
  'array of integers': {
    attribute: { type: 'integer', array: true, min: -9, max: largest },
    good: [[], [largest, 0, -9], [1, 1]],
    bad: [1, [-10], ['1'], [largest + 1n]],
  },
  'array of doubles': { attribute: { type: 'float', array: true }, good: [[0.1 + 0.2, 1e300, 1]], bad: [['1']] },
  'array of texts': {
    attribute: { type: 'text', array: true },
    good: [[], ['', 'a'.repeat(9999)]],
    bad: [[null], 'a'],
  },
  'array of bigints': { attribute: { type: 'bigint', array: true }, good: [[], [largest, 1]], bad: [[0.5]] },
  'array of booleans': {
    attribute: { type: 'boolean', array: true },
    good: [[true, false]],
    bad: [[1]],
  },
};

/** The text that follows a member in an answer. */
const rawMember = (text: string, name: string) => text.slice(text.indexOf(`"${name}":`) + name.length + 3);
const asNumber = (text: string) => Number.parseFloat(text);

for (const [name, { attribute, good, bad }] of Object.entries(cases)) {
  test(`values of ${name}`, async () => {
    const { documents } = await aCollection({ attributes: { v: attribute } });
    const create = (v: unknown) => key.post(documents, printJson({ documentId: 'unique()', data: { v } }));
    for (const value of good) {
      const created = (await create(value)).expect(201);
      const again = (await key.get(`${documents}/${created.body.$id}`)).expect(200);
      assert.equal(again.text, created.text);
      // The text of the answer, as JSON.parse would round.
      const printed = rawMember(created.text, 'v').slice(0, -1);
      if (typeof value === 'number') assert.equal(asNumber(printed), value);
      else assert.equal(printJson(typeof value === 'bigint' ? value : JSON.parse(printed)), bare(value, printed));
    }
    for (const value of bad) {
      const { message } = (await create(value)).refused(400, 'document_invalid_structure').body;
      assert.match(String(message), /"v"/, String(value));
    }
  });
}

/** What a value should print as; lists with large whole numbers are compared as text. */
function bare(value: unknown, printed: string): string {
  if (typeof value === 'bigint') {
    assert.equal(printed, String(value));
    return printed;
  }
  if (Array.isArray(value) && value.some((one) => typeof one === 'bigint')) {
    assert.equal(printed, printJson(value));
    return printJson(JSON.parse(printed));
  }
  return JSON.stringify(value);
}

test('64 bits are exact in GraphQL, as literal, as variable and as text of variables', async () => {
  const { documents, databaseId, id } = await aCollection({ attributes: { v: { type: 'integer' } } });
  const where = `databaseId: "${databaseId}", collectionId: "${id}"`;
  const create = (n: number, words: string, v: string) =>
    `mutation ${words} { documentCreate(${where}, documentId: "d${n}", data: ${v}) { data } }`;
  const variables = `{"x":{"v":${largest}}}`;
  const bodies = [
    printJson({ query: create(0, '', `{ v: ${largest} }`) }),
    `{"query":${JSON.stringify(create(1, '($x: JSON!)', '$x'))},"variables":${variables}}`,
    JSON.stringify({ query: create(2, '($x: JSON!)', '$x'), variables }),
  ];
  for (const [n, body] of bodies.entries()) {
    const shown = `{"data":{"documentCreate":{"data":{"v":${largest}}}}}`;
    assert.equal((await key.post('/graphql', body)).expect(200).text, shown);
    assert.ok((await key.get(`${documents}/d${n}`)).text.includes(`"v":${largest}`));
  }
});

test('an array has no more elements than it may', async () => {
  const { documents } = await aCollection({ attributes: { v: { type: 'boolean', array: true } } });
  const create = (length: number) =>
    key.post(documents, { documentId: 'unique()', data: { v: Array.from({ length }, () => true) } });
  (await create(9000)).expect(201);
  // The members of the whole body are counted before it is known what they are.
  (await create(10_001)).refused(400, 'general_argument_invalid');
});

test('datetimes are kept in UTC with milliseconds', async () => {
  const { documents } = await aCollection({ attributes: { v: { type: 'datetime' } } });
  const create = (v: unknown) => key.post(documents, { documentId: 'unique()', data: { v } });
  const forms = {
    '2024-02-29T12:00:00Z': '2024-02-29T12:00:00.000+00:00',
    '2024-02-29T12:00:00.1234+02:00': '2024-02-29T10:00:00.123+00:00',
    '2024-02-29T12:00Z': '2024-02-29T12:00:00.000+00:00',
    '2024-02-29T12:00': '2024-02-29T12:00:00.000+00:00',
    '2024-02-29T12:00:00.5+0200': '2024-02-29T10:00:00.500+00:00',
    '2024-02-29 12:00+02': '2024-02-29T10:00:00.000+00:00',
    '2024-02-29 12:00:00.5': '2024-02-29T12:00:00.500+00:00',
    '2024-02-29': '2024-02-29T00:00:00.000+00:00',
    '2024-12-31T23:30:00-05:00': '2025-01-01T04:30:00.000+00:00',
  };
  for (const [given, stored] of Object.entries(forms)) assert.equal((await create(given)).expect(201).body.v, stored);
  const outOfRange = ['9999-12-31T23:59:59.999-05:00', '0000-01-01T00:00:00+10:00'];
  for (const wrong of [
    '2023-02-29',
    '2024-13-01',
    'now',
    '',
    0,
    '24:00',
    '2024-02-29T25:00:00Z',
    '2024-02-29T12Z',
    ...outOfRange,
  ])
    (await create(wrong)).refused(400, 'document_invalid_structure');
});

test('defaults replace absent values, not null; a required attribute must be given', async () => {
  const { documents } = await aCollection({
    attributes: {
      text: { type: 'string', size: 9, default: 'as "is"' },
      whole: { type: 'integer', default: largest },
      double: { type: 'float', default: 0.1 },
      flag: { type: 'boolean', default: false },
      at: { type: 'datetime', default: '2024-01-01T00:00:00Z' },
      kind: { type: 'enum', elements: ['a', 'b'], default: 'b' },
      must: { type: 'integer', required: true },
    },
  });
  const create = (data: unknown) => key.post(documents, printJson({ documentId: 'unique()', data }));
  const { text: raw, body } = (await create({ must: 1 })).expect(201);
  const { text, double, flag, at, kind } = body;
  assert.deepEqual(
    { text, double, flag, at, kind },
    { text: 'as "is"', double: 0.1, flag: false, at: '2024-01-01T00:00:00.000+00:00', kind: 'b' },
  );
  assert.ok(raw.includes(`"whole":${largest}`), raw);
  assert.equal((await create({ must: 1, text: null })).expect(201).body.text, null);
  for (const data of [{}, { must: null }]) (await create(data)).refused(400, 'document_invalid_structure');
  (await create(null)).refused(400, 'document_missing_data');
});

test('text without NUL characters and lone surrogates, by whatever way it comes', async () => {
  const { documents, databaseId, id } = await aCollection({ attributes: { v: { type: 'string', size: 9 } } });
  for (const escaped of ['\\u0000', '\\ud800', '\\udc00\\ud800']) {
    const body = `{"documentId":"x","data":{"v":"a${escaped}"}}`;
    (await key.post(documents, body)).refused(400, 'general_argument_invalid');
    (await key.post(documents, `{"documentId":"x","data":{"${escaped}":1}}`)).refused(400, 'general_argument_invalid');
    for (const given of [`data: { v: "a${escaped}" }`, `data: {}, permissions: ["read(\\"team:x/${escaped}\\")"]`]) {
      const where = `databaseId: "${databaseId}", collectionId: "${id}"`;
      const query = `mutation { documentCreate(${where}, documentId: "x", ${given}) { id } }`;
      const [error] = (await key.post('/graphql', { query })).body.errors as { extensions: { code: number } }[];
      assert.equal(error?.extensions.code, 400, given);
    }
  }
  assert.equal((await key.get(documents)).expect(200).body.total, 0);
});

test('unknown attributes are refused, members that begin with $ are dropped', async () => {
  const { documents } = await aCollection({ attributes: { n: { type: 'integer' } } });
  const create = (data: unknown) => key.post(documents, { documentId: 'unique()', data });
  for (const name of ['N', 'seq', 'id', 'permissions', 'a_1', 'n"', ''])
    (await create(JSON.parse(`{${JSON.stringify(name)}:1}`))).refused(400, 'document_invalid_structure');
  const made = (await create({ n: 1, $id: 'x', $sequence: '9', $permissions: 'x', $else: 1 })).expect(201).body;
  assert.notEqual(made.$id, 'x');
  assert.equal(made.$else, undefined);
});
