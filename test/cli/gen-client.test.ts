// The typed client of a project: it is compiled with `tsc --strict` and run over both SDKs against a server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { install } from '../harness/cli.js';
import { createCompiler } from '../harness/compiler.js';
import { after } from '../harness/runner.js';

const run = promisify(execFile);
const place = await install();
after(() => place.dispose());
const { write, problemsOf, dispose } = createCompiler();
after(dispose);
const gen = ['gen', 'client', '--project', 'shop', '--out'];
const of = ['--project', 'shop', '--database', 'blog'];

await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'Blog', '--project', 'shop', '--id', 'blog']);
// Its interface would have the name of something that the module imports.
await place.json(['database', 'create', 'I', '--project', 'shop', '--id', 'i']);
await place.json(['collection', 'create', 'D', '--project', 'shop', '--database', 'i', '--id', 'd']);
for (const id of ['authors', 'post-notes']) await place.json(['collection', 'create', id, ...of, '--id', id]);
const attribute = (...args: string[]) => place.json(['collection', 'add-attribute', ...args, ...of]);
await attribute('authors', 'name', '--type', 'string', '--size', '20', '--required');
await attribute('post-notes', 'title', '--type', 'string', '--size', '20', '--required');
await attribute('post-notes', 'state', '--type', 'enum', '--elements', 'new,done');
await attribute('post-notes', 'count', '--type', 'integer');
await attribute('post-notes', 'tags', '--type', 'string', '--size', '20', '--array');
const named = ['--project', 'shop', '--name', 'key', '--scopes', 'all'];
const { secret } = await place.json<{ secret: string }>(['apikey', 'create', ...named]);

test('a program over the client compiles, and what the collections do not have does not', async () => {
  const file = write('client.ts', '');
  const made = await place.json([...gen, '-', '--sdk', 'node-appwrite']);
  assert.deepEqual(made, { file: '-', changed: true });
  writeFileSync(file, (await place.svc([...gen, '-', '--sdk', 'node-appwrite'])).out);
  const right = `
    import { Client } from 'node-appwrite';
    import { createCollections } from './client.js';
    const { blog } = createCollections(new Client());
    const notes = blog['post-notes'];
    const made = await notes.create({ title: 'a', tags: ['x'] }, { id: 'one', permissions: [] });
    await notes.update(made.$id, { state: null });
    const page = await notes.list((q) => [q.equal('state', ['new', 'done']), q.greaterThan('$createdAt', '2020'), q.contains('tags', 'x')]);
    export const titles = page.documents.map(({ title, count }) => title.length + Number(count ?? 0));
    for await (const author of blog.authors.each((q) => [q.orderAsc('name'), q.select(['name'])])) author.name.trim();`;
  const wrong = [
    "await notes.create({ titel: 'a', title: 'a' });",
    'await notes.create({ count: 1 });',
    "await notes.update('one', { state: 'over' });",
    "await notes.list((q) => [q.equal('titel', 'a')]);",
    "await notes.list((q) => [q.equal('state', 'over')]);",
    "await notes.list((q) => [q.greaterThan('count', 'two')]);",
    "await notes.list((q) => [q.orderAsc('titel')]);",
    'made.titel;',
    'blog.readers;',
  ];
  assert.deepEqual(problemsOf({ right }), []);
  const problems = problemsOf({ wrong: [right, ...wrong].join('\n') });
  assert.equal(problems.length, wrong.length, problems.join('\n'));
});

for (const sdk of ['node-appwrite', 'appwrite'])
  test(`documents are created, changed, listed and deleted over ${sdk}`, async () => {
    const { url } = await place.serve([], { SVC_RATE_LIMIT: 'off' });
    const { out } = await place.svc([...gen, '-', '--sdk', sdk]);
    const { outputText } = ts.transpileModule(out, {
      compilerOptions: { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 },
    });
    write(`${sdk}.mjs`, outputText);
    const imported = pathToFileURL(createRequire(import.meta.url).resolve(sdk)).href;
    const program = write(
      `program-${sdk}.mjs`,
      `
      import * as sdk from '${imported}';
      import { createCollections } from './${sdk}.mjs';
      const client = new (sdk.Client ?? sdk.default.Client)().setEndpoint('${url}').setProject('shop');
      client.headers['X-Appwrite-Key'] = process.env.KEY;
      const { blog } = createCollections(client);
      const notes = blog['post-notes'];
      for (let count = 0; count < 205; count++) await notes.create({ title: 'a', count, state: 'new' }, { id: 'n' + count });
      await notes.update('n7', { state: 'done', tags: ['x'] });
      const { total, documents } = await notes.list((q) => [q.contains('tags', ['x']), q.limit(1)]);
      await notes.upsert('n8', { title: 'b' });
      await notes.delete('n9');
      let each = 0;
      for await (const { count } of notes.each((q) => [q.lessThan('count', 1000)])) each += count === undefined ? 0 : 1;
      const { title } = await notes.get('n8');
      for (let count = 0; count < 205; count++) if (count !== 9) await notes.delete('n' + count);
      console.log(JSON.stringify([total, documents[0].$id, each, title]));`,
    );
    const result = await run(process.execPath, [program], { env: { ...process.env, KEY: secret } });
    assert.deepEqual(JSON.parse(result.stdout), [1, 'n7', 204, 'b']);
  });

test('the check fails if the collections have changed, and other files are not overwritten', async () => {
  const file = write('committed.ts', '');
  const other = await place.svc([...gen, file]);
  assert.equal(other.code, 5);
  assert.match(other.err, /was not made by svc gen client/);
  writeFileSync(file, (await place.svc([...gen, '-'])).out);
  assert.deepEqual(await place.json([...gen, file, '--check']), { file, changed: false });
  await attribute('authors', 'born', '--type', 'datetime');
  const outdated = await place.svc([...gen, file, '--check']);
  assert.equal(outdated.code, 5);
  assert.match(outdated.err, /next: svc gen client --project shop --out /);
  assert.ok(!readFileSync(file, 'utf8').includes('born'));
  assert.deepEqual(await place.json([...gen, file]), { file, changed: true });
  assert.ok(readFileSync(file, 'utf8').includes('born: string | null;'));
});
