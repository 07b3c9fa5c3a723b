// Refusals of schemas and documents name the attribute, the index or the bound that they are about, and no stored value.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaLimits } from '#src/contract/limits.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Answer } from '../harness/client.js';
import { aBackend, queryString } from './setup.js';

const target = await startAppliance();
const { key, collection: aCollection } = await aBackend(target);
const stored = 'hidden-away';

/** Checks type and message of a refusal. */
function says(answer: Answer, type: string, ...parts: readonly string[]): void {
  assert.equal(answer.body.type, type, JSON.stringify(answer.body));
  const message = String(answer.body.message);
  for (const part of parts) assert.ok(message.includes(part), message);
  assert.ok(!message.includes(stored), message);
}

test('a refused schema change names its subject', async () => {
  const { documents, attributes, indexes, path } = await aCollection({
    attributes: {
      title: { type: 'string', size: 600 },
      slug: { type: 'string', size: 600 },
      tags: { type: 'string', size: 9, array: true },
      n: { type: 'integer', max: 9 },
    },
  });
  for (const id of ['a', 'b']) (await key.post(documents, { documentId: id, data: { title: stored } })).expect(201);
  const index = (given: object) => key.post(indexes, { key: 'by', type: 'key', attributes: ['title'], ...given });
  says(await index({ attributes: ['title', 'slug'] }), 'index_invalid', '"by"', '"title", "slug"', '1200', '768');
  says(await index({ attributes: ['n', 'n'] }), 'index_invalid', '"by"', '"n"');
  says(await index({ type: 'unique', attributes: ['tags'] }), 'index_invalid', '"by"', '"tags"');
  says(await index({ type: 'unique' }), 'index_invalid', '"by"', '"title"');
  says(await index({ type: 'fulltext', attributes: ['n'] }), 'index_invalid', '"by"', '"n"');
  (await index({ key: 'words', type: 'fulltext' })).expect(202);
  says(await index({ type: 'fulltext' }), 'index_invalid', '"title"', '"words"');
  says(await index({ attributes: ['none'] }), 'attribute_unknown', '"none"');
  (await index({})).expect(202);
  says(await index({}), 'index_already_exists', '"by"');

  const columns = attributes.replace(/^.databases(.*)collections(.*)attributes$/, '/tablesdb$1tables$2columns');
  const text = { required: false, default: null };
  says(await key.patch(`${attributes}/string/title`, { ...text, size: 4 }), 'attribute_invalid_resize', '"title"', '4');
  const long = { ...text, default: 'x'.repeat(700) };
  says(await key.patch(`${attributes}/string/title`, long), 'attribute_value_invalid', '"title"', '600');
  const bounds = { required: false, default: null, min: 9, max: 1 };
  says(await key.patch(`${attributes}/integer/n`, bounds), 'attribute_value_invalid', '"n"', '"min"', '"max"');
  says(await key.patch(`${attributes}/integer/title`, text), 'attribute_type_invalid', '"title"', 'string');
  says(await key.delete(`${attributes}/none`), 'attribute_not_found', 'There is no attribute "none".');
  says(await key.delete(`${indexes}/none`), 'index_not_found', 'There is no index "none".');
  says(await key.delete(`${columns}/none`), 'column_not_found', 'There is no column "none".');
  says(await key.post(`${attributes}/boolean`, { key: 'n', required: false }), 'attribute_already_exists', '"n"');
  assert.equal(path.includes(stored), false);
});

test('one index too many is named with the bound', async () => {
  const { indexes } = await aCollection({ attributes: { n: { type: 'integer', array: true } } });
  const add = (name: string) => key.post(indexes, { key: name, type: 'key', attributes: ['n'] });
  for (let count = 0; count < schemaLimits.indexes; count++) (await add(`i${count}`)).expect(202);
  says(await add('last'), 'index_limit_exceeded', '"last"', String(schemaLimits.indexes));
});

test('any write of a taken value is refused with the index, but without values', async () => {
  const { documents, indexes } = await aCollection({
    attributes: {
      a: { type: 'string', size: 20 },
      n: { type: 'integer', min: 0, max: 9 },
      x: { type: 'float' },
      is: { type: 'boolean' },
    },
  });
  for (const [name, keys] of [
    ['first', ['x', 'is']],
    ['second', ['a', 'n']],
  ] as const)
    (await key.post(indexes, { key: name, type: 'unique', attributes: keys, orders: keys.map(() => 'DESC') })).expect(
      202,
    );
  (await key.post(documents, { documentId: 'one', data: { a: stored, n: 1, x: 0.5, is: true } })).expect(201);
  (await key.post(documents, { documentId: 'two', data: { a: stored, n: 2 } })).expect(201);
  const rows = documents
    .replace('/databases/', '/tablesdb/')
    .replace('/collections/', '/tables/')
    .replace('/documents', '/rows');
  const second = ['"second"', '"a", "n"'];
  const type = 'document_unique_constraint_violation';
  const taken = { a: stored, n: 1 };
  says(await key.post(documents, { documentId: 'three', data: taken }), type, ...second);
  says(await key.post(documents, { documentId: 'three', data: { x: 0.5, is: true } }), type, '"first"', '"x", "is"');
  says(await key.put(`${documents}/three`, { data: taken }), type, ...second);
  says(await key.patch(`${documents}/two`, { data: { n: 1 } }), type, ...second);
  says(await key.post(documents, { documents: [{ $id: 'three' }, { $id: 'four', ...taken }] }), type, ...second);
  says(await key.patch(documents, { data: { n: 5, a: 'same' } }), type, ...second);
  says(await key.patch(`${documents}/two/n/decrement`, {}), type, ...second);
  says(await key.post(rows, { rowId: 'three', data: taken }), 'row_unique_constraint_violation', ...second);
  says(await key.patch(`${documents}/two/n/increment`, { value: 8 }), 'attribute_limit_exceeded', '"n"', 'max 9');
  says(await key.patch(`${documents}/two/none/increment`, {}), 'attribute_not_found', '"none"');
  says(await key.patch(`${documents}/two/a/increment`, {}), 'attribute_type_invalid', '"a"');
  assert.equal((await key.get(documents)).expect(200).body.total, 2);
});

test('a number out of bounds is refused with the bounds of the attribute', async () => {
  const { documents } = await aCollection({
    attributes: {
      least: { type: 'integer', min: 0 },
      most: { type: 'integer', max: 9 },
      both: { type: 'integer', min: 0, max: 9 },
      none: { type: 'integer' },
      part: { type: 'float', min: 0.5 },
      share: { type: 'float', min: 0, max: 1 },
    },
  });
  const largest = 2n ** 63n - 1n;
  for (const [name, value, reason] of [
    ['least', -1, 'must be at least 0'],
    ['least', largest + 1n, `must be from 0 to ${largest}`],
    ['most', 10, 'must be at most 9'],
    ['both', 10, 'must be from 0 to 9'],
    ['none', largest + 1n, `must be at most ${largest}`],
    ['none', -largest - 2n, `must be at least ${-largest - 1n}`],
    ['part', 0, 'must be at least 0.5'],
    ['share', 1.5, 'must be from 0 to 1'],
  ] as const)
    says(
      await key.post(documents, `{"documentId":"unique()","data":{"${name}":${value}}}`),
      'document_invalid_structure',
      `"${name}" ${reason}`,
    );
});

test('a refused relationship is named, whether its document is there or not', async () => {
  const posts = await aCollection({ permissions: ['create("users")', 'read("users")', 'update("users")'] });
  const authors = await aCollection({ attributes: { name: { type: 'string', size: 20 } } });
  const relationship = { relatedCollectionId: authors.id, type: 'manyToOne', key: 'author', onDelete: 'cascade' };
  (await key.post(`${posts.attributes}/relationship`, relationship)).expect(202);
  (await key.post(authors.documents, { documentId: 'a', data: { name: stored } })).expect(201);
  const { client } = await aLoggedInUser(target);
  const refusal = 'You do not have the permission to create or change the document in "author".';
  for (const author of [{ name: 'New' }, { $id: 'a', name: 'New' }, { $id: 'b', name: 'New' }])
    says(
      await client.post(posts.documents, { documentId: 'unique()', data: { author } }),
      'user_unauthorized',
      refusal,
    );
  const foreign = { documentId: 'unique()', data: {}, permissions: ['read("user:bob")'] };
  const told = 'You do not have the role user:bob, so you cannot grant permissions to it.';
  says(await client.post(posts.documents, foreign), 'user_unauthorized', told);
  const many = 'Change them one by one, or in a transaction.';
  says(await key.patch(posts.documents, { data: {} }), 'general_bad_request', 'with relationships', many);
});

test('a query that the SDK has and the service does not is named', async () => {
  const { documents } = await aCollection({ attributes: { title: { type: 'string', size: 20 } } });
  const regex = queryString([{ method: 'regex', attribute: 'title', values: ['x'] }]);
  says(await key.get(`${documents}${regex}`), 'general_query_invalid', 'regex is not supported');
});

test('a query that compares with null says which methods find it', async () => {
  const { documents } = await aCollection({ attributes: { n: { type: 'integer' } } });
  for (const method of ['equal', 'notEqual', 'lessThan']) {
    const answer = await key.get(documents + queryString([{ method, attribute: 'n', values: [null] }]));
    says(answer.refused(400, 'general_query_invalid'), 'general_query_invalid', 'isNull and isNotNull');
  }
});
