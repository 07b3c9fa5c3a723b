// Values at the ends of what there is come back as they were sent, by every way that writes them, and have one order on both databases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printJson } from '#src/platform/text/json.js';
import { startAppliance } from '../harness/appliance.js';
import { type AttributeGiven, aBackend, queryString } from './setup.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const { key, collection: aCollection } = await aBackend(target);
const [largest, smallest] = [2n ** 63n - 1n, -(2n ** 63n)];
const megabyte = 1_000_000;

/** Each type with values in their order, ascending. */
const ordered: readonly (readonly [AttributeGiven, readonly unknown[]])[] = [
  [
    { type: 'string', size: megabyte },
    [null, '', '\t', ' ', 'A', 'a', 'e\u0301', 'z', 'é', '\uE000', '\uFFFD', '😀', '\u{10FFFF}'],
  ],
  [{ type: 'varchar', size: 100 }, [null, '', '10', '9', 'B', 'a', 'n\u0303', 'ñ', '日本']],
  [{ type: 'text' }, [null, '', 'a', 'a ', 'aa', 'a\u0300', 'à']],
  [{ type: 'mediumtext' }, [null, '', '%', '\\', '_', '‮']],
  [{ type: 'longtext' }, [null, '"', "'", '👩‍👩‍👧']],
  [
    { type: 'integer' },
    [null, smallest, smallest + 1n, -(2n ** 53n) - 1n, -1, 0, 2n ** 53n + 1n, largest - 1n, largest],
  ],
  [{ type: 'bigint' }, [null, smallest, -(2n ** 53n), -(2n ** 53n) + 1n, 0, 2n ** 53n, 2n ** 53n + 1n, largest]],
  [
    { type: 'float' },
    [null, -1.7976931348623157e308, -1e22, -5e-324, 0, 5e-324, 0.1, 0.1 + 0.2, 1e22, 1.7976931348623157e308],
  ],
  [{ type: 'boolean' }, [null, false, true]],
  [
    { type: 'datetime' },
    [null, '0000-01-01T00:00:00.000+00:00', '1582-10-15T00:00:00.000+00:00', '1969-12-31T23:59:59.999+00:00'].concat([
      '1970-01-01T00:00:00.000+00:00',
      '2024-02-29T12:00:00.000+00:00',
      '9999-12-31T23:59:59.999+00:00',
    ]),
  ],
];

test('values of each type come back unchanged and sort by their type, with and without an index', async () => {
  for (const [attribute, values] of ordered) {
    const { documents, indexes } = await aCollection({ attributes: { v: attribute } });
    // Neither in their order nor in its opposite.
    const mixed = values
      .map((value, at) => ({ $id: `d${at}`, v: value }))
      .sort((one, other) => ((Number(one.$id.slice(1)) * 7) % 11) - ((Number(other.$id.slice(1)) * 7) % 11));
    const made = (await key.post(documents, printJson({ documents: mixed }))).expect(201);
    for (const { v } of mixed)
      assert.ok(made.text.includes(`"v":${printJson(v)}}`), `${attribute.type} ${printJson(v)}`);
    const ids = values.map((_, at) => `d${at}`);
    const sorted = async (method: string) => {
      const list = await key.get(documents + queryString([{ method, attribute: 'v' }]));
      return list
        .expect(200)
        .list('documents')
        .map(({ $id }) => $id);
    };
    const check = async () => {
      assert.deepEqual(await sorted('orderAsc'), ids, attribute.type);
      assert.deepEqual(await sorted('orderDesc'), [...ids].reverse(), attribute.type);
      for (const [at, value] of values.entries()) {
        if (value === null) continue;
        const equal = queryString([{ method: 'equal', attribute: 'v', values: [value] }]);
        const found = (await key.get(documents + equal))
          .expect(200)
          .list('documents')
          .map(({ $id }) => $id);
        assert.deepEqual(found, [`d${at}`], `${attribute.type} ${printJson(value)}`);
      }
    };
    await check();
    const indexed = await key.post(indexes, { key: 'by', type: 'key', attributes: ['v'] });
    if (indexed.status === 202) await check();
    else indexed.refused(400, 'index_invalid');
  }
});

test('a text of a million characters survives every way of writing, to the last', async () => {
  const types = [{ type: 'string', size: megabyte }, { type: 'mediumtext' }, { type: 'longtext' }];
  for (const attribute of types) {
    const { documents } = await aCollection({ attributes: { v: attribute, n: { type: 'integer' } } });
    const text = (last: string) => `${'é😀"\\\n\u2028e\u0301'.repeat(megabyte / 10)}`.slice(0, megabyte - 1) + last;
    const path = `${documents}/one`;
    const kept = async (expected: string) =>
      assert.ok((await key.get(path)).expect(200).body.v === expected, attribute.type);
    (await key.post(documents, { documentId: 'one', data: { v: text('a') } })).expect(201);
    await kept(text('a'));
    (await key.patch(path, { data: { v: text('b') } })).expect(200);
    await kept(text('b'));
    (await key.put(path, { data: { v: text('c') } })).expect(200);
    await kept(text('c'));
    (await key.patch(documents, { data: { v: text('d') } })).expect(200);
    await kept(text('d'));
    const replace = JSON.stringify({ method: 'stringReplace', values: ['😀', '😁'] });
    (await key.patch(path, { data: { v: replace, n: 1 } })).expect(200);
    await kept(text('d').replaceAll('😀', '😁'));
  }
  const { documents } = await aCollection({ attributes: { v: { type: 'string', size: megabyte } } });
  const exact = '😀'.repeat(megabyte / 2) + 'x'.repeat(megabyte / 2);
  (await key.post(documents, { documentId: 'one', data: { v: exact } })).expect(201);
  (await key.post(documents, { documentId: 'two', data: { v: `${exact}x` } })).refused(
    400,
    'document_invalid_structure',
  );
});

test('empty arrays are not null, and arrays keep their order and equal elements', async () => {
  const lists: Record<string, readonly unknown[]> = {
    string: ['b', 'a', 'b', '', 'e\u0301', 'é'],
    bigint: [largest, smallest, 0, largest],
    float: [0.1 + 0.2, -5e-324, 1e22],
    boolean: [true, false, true],
    datetime: ['1969-12-31T23:59:59.999+00:00', '0000-01-01T00:00:00.000+00:00'],
    longtext: ['\u2028', '"'],
  };
  for (const [type, list] of Object.entries(lists)) {
    const size = type === 'string' ? { size: 9 } : {};
    const { documents } = await aCollection({ attributes: { v: { type, array: true, ...size } } });
    for (const [id, v] of [
      ['full', list],
      ['empty', []],
      ['null', null],
    ] as const) {
      const made = (await key.post(documents, printJson({ documentId: id, data: { v } }))).expect(201);
      assert.ok(made.text.includes(`"v":${printJson(v)}}`), made.text);
      assert.equal((await key.get(`${documents}/${id}`)).text, made.text);
    }
    const nulls = queryString([{ method: 'isNull', attribute: 'v' }]);
    assert.deepEqual(
      (await key.get(documents + nulls)).list('documents').map(({ $id }) => $id),
      ['null'],
    );
  }
});
