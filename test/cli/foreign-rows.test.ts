// Rows that other services export: the import names the command that brings them into the form of documents.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const hasJq = spawnSync('jq', ['--version']).status === 0;
const into = ['--project', 'shop', '--database', 'blog', '--collection', 'posts'];
let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'Blog', '--project', 'shop', '--id', 'blog']);
  await place.json(['collection', 'create', 'Posts', '--project', 'shop', '--database', 'blog', '--id', 'posts']);
  const title = ['title', '--type', 'string', '--size', '50', '--project', 'shop', '--database', 'blog'];
  await place.json(['collection', 'add-attribute', 'posts', ...title]);
});
after(() => place.dispose());

const times = { created: '2024-01-02 03:04:05.678Z', updated: '2024-02-03 04:05:06.789Z' };
const ofPocketBase = { id: 'abc123def456ghi', collectionId: 'pbc_1', collectionName: 'posts', ...times, title: 'Hi' };
/** [what the rows are, the file, ids of the documents, what the advice begins with] */
const exports: [string, unknown, string[], RegExp][] = [
  ['rows of PocketBase', ofPocketBase, ['abc123def456ghi'], /^next: rows of PocketBase need other names: jq /m],
  ['rows with an id', { id: 'one', title: 'Hi' }, ['one'], /^next: the id of a document is called \$id: jq /m],
  ['rows with an _id', { _id: 'two', title: 'Hi' }, ['two'], /^next: the id of a document is called \$id: jq /m],
  [
    'a page',
    { page: 1, items: [{ $id: 'a1' }, { $id: 'a2' }] },
    ['a1', 'a2'],
    /^next: the file is one page of rows; /m,
  ],
];
for (const [name, content, ids, advice] of exports) {
  test(`${name}: the import names the command that converts them`, async () => {
    writeFileSync(join(place.dir, "it's.ndjson"), `${JSON.stringify(content)}\n`);
    const { code, err } = await place.svc(['document', 'import', "it's.ndjson", ...into]);
    assert.equal(code, 1, err);
    assert.match(err, advice);
    if (!hasJq) return;
    const [, command = ''] = /: (jq .*)$/m.exec(err) ?? [];
    assert.equal((await place.shell(command)).code, 0, command);
    const { created, failed } = await place.json<Record<string, number>>([
      'document',
      'import',
      'documents.ndjson',
      ...into,
    ]);
    assert.deepEqual([created, failed], [ids.length, 0]);
    const { out } = await place.svc(['document', 'export', ...into]);
    const documents = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const id of ids)
      assert.ok(
        documents.some(({ $id }) => $id === id),
        out,
      );
    if (content === ofPocketBase)
      assert.equal(documents.find(({ $id }) => $id === ids[0])?.$createdAt, '2024-01-02T03:04:05.678+00:00');
  });
}

test('suggests the name for a column that may hold the ids', async () => {
  writeFileSync(join(place.dir, 'rows.csv'), 'id,title\none,Hi\n');
  const { code, err } = await place.svc(['document', 'import', 'rows.csv', ...into]);
  assert.equal(code, 2);
  assert.match(err, /^next: if it has the ids of the documents, name the column \$id instead of id$/m);
});
