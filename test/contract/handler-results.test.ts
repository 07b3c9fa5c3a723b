// What a handler returns is checked against the reply that its operation declares; the type checker runs this file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { declare, empty, json, page, type ReplyShape, rawJson, textReply } from '#src/contract/declaration.js';
import { implement } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';

const common = { method: 'GET', tag: 'test', access: { auth: ['guest'] }, limits: { calls: 'none' } } as const;
const shape = z.object({ total: z.int() });
const replying = <S extends ReplyShape>(shape: S) => ({ status: 200, shape, errors: [] }) as const;
const api = declare({
  value: { ...common, id: 'test.value', path: '/value', summary: 'A value.', reply: replying(json(shape)) },
  raw: { ...common, id: 'test.raw', path: '/raw', summary: 'JSON text.', reply: replying(rawJson(shape)) },
  empty: { ...common, id: 'test.empty', path: '/empty', summary: 'Nothing.', reply: replying(empty) },
  text: { ...common, id: 'test.text', path: '/text', summary: 'Text.', reply: replying(textReply('text/plain')) },
  page: { ...common, id: 'test.page', path: '/page', summary: 'A page.', reply: replying(page) },
});
const right = {
  value: () => ({ total: 1 }),
  raw: async () => new RawJson('{"total":1}'),
  empty: async () => {},
  text: () => 'text',
  page: () => ({ html: '', nonce: '' }),
};

test('handlers that return what their operations declare are bound', () => {
  const operations = implement(api, right);
  assert.deepEqual(
    operations.map(({ declaration }) => declaration.id),
    ['test.value', 'test.raw', 'test.empty', 'test.text', 'test.page'],
  );
});

test('handlers that return another kind of reply do not compile', () => {
  const wrong = [
    // @ts-expect-error: JSON text where a value is declared
    implement(api, { ...right, value: () => new RawJson('{"total":1}') }),
    // @ts-expect-error: the same, later
    implement(api, { ...right, value: async () => new RawJson('{"total":1}') }),
    // @ts-expect-error: a value of another shape
    implement(api, { ...right, value: () => ({ sum: 1 }) }),
    // @ts-expect-error: a value where JSON text is declared
    implement(api, { ...right, raw: () => ({ total: 1 }) }),
    // @ts-expect-error: plain text where JSON text is declared
    implement(api, { ...right, raw: () => '{"total":1}' }),
    // @ts-expect-error: JSON text where nothing is declared
    implement(api, { ...right, empty: async () => new RawJson('{}') }),
    // @ts-expect-error: JSON text where other text is declared
    implement(api, { ...right, text: () => new RawJson('{}') }),
    // @ts-expect-error: text where a page is declared
    implement(api, { ...right, page: () => '<html></html>' }),
  ];
  assert.equal(wrong.length, 8, 'each of them is an error of types only');
});
