// svc document export and import: what comes back equals what went out, refused lines are told, and it works beside a server and after kill -9.
// SVC_TEST_LINES says how many lines the large import has (20 000).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const many = Number(process.env.SVC_TEST_LINES ?? 20_000);
const place = await install({ init: false });
after(() => place.dispose());
const { project, apiKey } = await place.json<{ project: { $id: string }; apiKey: { secret: string } }>([
  ...['init', '--yes', '--project', 'Shop', '--project-id', 'shop'],
]);
const of = (collection: string) => ['--project', project.$id, '--database', 'db', '--collection', collection];
const fileAt = (name: string) => join(place.dir, name);
const read = (name: string) => readFileSync(fileAt(name), 'utf8');

await place.json(['database', 'create', 'Db', '--id', 'db', '--project', project.$id]);
async function aCollection(id: string): Promise<void> {
  const to = ['--project', project.$id, '--database', 'db'];
  await place.json(['collection', 'create', id, '--id', id, ...to]);
  for (const [key, ...rest] of [
    ['text', '--type', 'string', '--size', '2000000'],
    ['n', '--type', 'integer'],
    ['f', '--type', 'float'],
    ['b', '--type', 'boolean'],
    ['at', '--type', 'datetime'],
    ['tags', '--type', 'string', '--size', '100', '--array'],
    ['unique', '--type', 'string', '--size', '20'],
  ] as const)
    await place.json(['collection', 'add-attribute', id, key, ...rest, ...to]);
  await place.json(['collection', 'add-index', id, 'one', '--attributes', 'unique', '--type', 'unique', ...to]);
  await place.json(['collection', 'add-index', id, 'words', '--attributes', 'text', '--type', 'fulltext', ...to]);
}
for (const id of ['first', 'second', 'third', 'large', 'bulk']) await aCollection(id);

const lines = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
/** Documents of a file without what the place decides. */
const comparable = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/"\$sequence":"\d+","\$collectionId":"\w+","\$databaseId":"\w+",/, ''));
const digest = (text: string) => createHash('sha256').update(comparable(text).join('\n')).digest('hex');

interface Counts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly failed: number;
}

async function imported(args: readonly string[], input?: string) {
  const { code, out, err } = await place.svc(['document', 'import', ...args, '--json'], {
    ...(input === undefined ? {} : { input }),
  });
  return { code, counts: (out === '' ? {} : JSON.parse(out)) as Counts, err };
}

test('documents come back as they went out, as NDJSON and as CSV', async () => {
  const given = [
    {
      $id: 'a',
      $permissions: ['read("any")', 'update("user:ada")'],
      $createdAt: '1969-07-20T20:17:40.000+00:00',
      $updatedAt: '2001-01-01T00:00:00Z',
      text: 'comma, "quote"\r\nline é 漢 😀 \u0001 =1+1',
      f: 0.1,
      b: false,
      at: '0001-01-01T00:00:00.000+00:00',
      tags: ['x,y', '"', ''],
    },
    { $id: 'b', text: '', tags: [], n: 0, f: -1e-7, b: true },
    { $id: 'c', text: null, n: null, tags: null },
    { $id: 'd', text: ' spaces ', n: -5, f: 1e300 },
  ];
  // A number of 64 bits, which JSON.stringify has not.
  const file = lines(given).replace('"n":-5', '"n":-9223372036854775808');
  writeFileSync(fileAt('in.ndjson'), `\ufeff${file}\n`);
  const first = await imported(['in.ndjson', ...of('first')]);
  assert.deepEqual([first.code, first.counts], [0, { created: 4, updated: 0, unchanged: 0, failed: 0 }]);
  const exported = await place.json<object>(['document', 'export', 'out.ndjson', ...of('first')]);
  assert.deepEqual(exported, { file: 'out.ndjson', documents: 4 });
  const out = comparable(read('out.ndjson'));
  assert.match(
    out[0] ?? '',
    /"\$createdAt":"1969-07-20T20:17:40.000\+00:00","\$updatedAt":"2001-01-01T00:00:00.000\+00:00"/,
  );
  assert.match(out[3] ?? '', /"n":-9223372036854775808/);

  assert.equal((await imported(['out.ndjson', ...of('second')])).counts.created, 4);
  const csv = await place.svc(['document', 'export', '--format', 'csv', ...of('second')]);
  writeFileSync(fileAt('out.csv'), csv.out);
  const third = await imported(['out.csv', ...of('third')]);
  assert.deepEqual([third.counts.created, third.err], [4, '']);
  await place.json(['document', 'export', 'third.ndjson', ...of('third')]);
  assert.equal(digest(read('third.ndjson')), digest(read('out.ndjson')));

  // Twice: what is there is told, or left as it is.
  const again = await imported(['out.ndjson', ...of('third')]);
  assert.deepEqual([again.code, again.counts.failed], [1, 4]);
  const upserted = await imported(['out.ndjson', '--upsert', ...of('third')]);
  assert.deepEqual(upserted.counts, { created: 0, updated: 0, unchanged: 4, failed: 0 });
  await place.json(['document', 'export', 'third.ndjson', ...of('third')]);
  assert.equal(digest(read('third.ndjson')), digest(read('out.ndjson')));
  // Whoever imports leaves one entry for each document that came.
  const log = ['audit', 'list', '--action', 'documentCreated', '--limit', '100'];
  const { entries } = await place.json<{ entries: { actor: string }[] }>(log);
  assert.equal(entries.length, 12);
});

test('reports a line that cannot be written by its number, and writes the others', async () => {
  const report = async (input: string, more: readonly string[] = []) => {
    const { counts } = await imported(['-', '--report', 'report.ndjson', ...more, ...of('bulk')], input);
    const told = read('report.ndjson').trimEnd().split('\n').filter(Boolean);
    return { counts, told: told.map((line) => JSON.parse(line)) };
  };
  const wrong = await report(
    [
      lines([{ $id: 'ok1', n: 1, unique: 'x' }]),
      'no json\n',
      '[1]\n',
      '\n',
      lines([
        { $id: 'bad id!', n: 1 },
        { $id: 'e1', n: 'text' },
        { $id: 'e2', none: 1 },
        { $id: 'ok1', n: 2 },
        { $id: 'e3', unique: 'x' },
        { $id: 'e4', $permissions: ['fly("any")'] },
        { $id: 'e5', $createdAt: 'yesterday' },
        { n: 3 },
      ]),
      '{"$id":"e6","n":1\xff}\n',
      `{"$id":"e7","text":"${'x'.repeat(34_000_000)}"}\n`,
      '{"$id":"e8","__proto__":{"n":1}}\n',
      '{"$id":"last","n":4}',
    ].join(''),
  );
  assert.deepEqual(
    wrong.told.map(({ line, type }) => [line, type]).sort(([a], [b]) => a - b),
    [
      [2, 'line_invalid'],
      [3, 'line_invalid'],
      [5, 'general_argument_invalid'],
      [6, 'document_invalid_structure'],
      [7, 'document_invalid_structure'],
      [8, 'document_already_exists'],
      [9, 'document_unique_constraint_violation'],
      [10, 'general_argument_invalid'],
      [11, 'document_invalid_structure'],
      [13, 'line_invalid'],
      [14, 'line_invalid'],
      [15, 'general_argument_invalid'],
    ],
  );
  assert.deepEqual(wrong.counts, { created: 3, updated: 0, unchanged: 0, failed: 12 });
  const upserted = await report(
    lines([
      { $id: 'ok1', n: 9 },
      { $id: 'last', unique: 'x' },
      { $id: 'ok1', n: 10 },
    ]),
    ['--upsert'],
  );
  assert.deepEqual(upserted.counts, { created: 0, updated: 2, unchanged: 0, failed: 1 });
  assert.deepEqual(
    upserted.told.map(({ line, id, type }) => [line, id, type]),
    [[2, 'last', 'document_unique_constraint_violation']],
  );
  const csv = (text: string) => report(text, ['--format', 'csv']);
  const cells = await csv('$id,n,tags,text\r\nc1,1,"[""a""]","a ""b"""\r\nc2,x,,\r\nc3,1\r\nc4,2,,""\r\n');
  assert.deepEqual(cells.counts, { created: 2, updated: 0, unchanged: 0, failed: 2 });
  assert.deepEqual(cells.told.map(({ line }) => line).sort(), [3, 4]);
  const unclosed = await csv('$id,n\nc5,1\nc6,"2\nc7,3\n');
  assert.equal(unclosed.counts.created, 1);
  assert.match(unclosed.told[0].message, /The quote that line 3 opens is not closed/);

  const plain = await place.svc(['document', 'import', '-', ...of('bulk')], { input: '{"$id":"ok1"}\n' });
  assert.equal(plain.code, 1);
  assert.match(plain.err, /^line 1 \(ok1\): document_already_exists: /m);
  assert.match(plain.err, /^next: .*--upsert/m);
  const nameless = await place.svc(['document', 'import', '-', ...of('bulk')], { input: '{"n":1}\n{"n":"text"}\n' });
  assert.match(nameless.err, /^line 2: document_invalid_structure: /m);
  assert.ok(!nameless.err.includes('unique()'), nameless.err);
  const [untold] = (await report('{"n":"text"}\n')).told;
  assert.deepEqual([untold.line, Object.keys(untold)], [1, ['line', 'type', 'message']]);
  const misfits = lines(Array.from({ length: 12 }, (_, at) => ({ $id: `m${at}`, none: at })));
  const capped = await place.svc(['document', 'import', '-', ...of('bulk')], { input: `${misfits}no json\n` });
  assert.equal(capped.err.match(/^line \d+ \(m\d+\): document_invalid_structure: /gm)?.length, 10);
  assert.match(capped.err, /^and 2 more like it: document_invalid_structure$/m);
  assert.match(capped.err, /^line 13: line_invalid: /m);
  assert.match(capped.err, /^next: svc collection add-attribute bulk none --project \S+ --database db --type TYPE$/m);
  assert.equal((await report(misfits)).told.length, 12);
  const other = await place.svc(['document', 'import', '-', '--format', 'csv', ...of('bulk')], { input: 'nope\n1\n' });
  assert.equal(other.code, 2);
  assert.equal((await place.svc(['document', 'import', 'none.csv', ...of('bulk')])).code, 3);
  assert.equal((await place.svc(['document', 'import', '-', ...of('none')], { input: '' })).code, 3);
});

test(`${many} lines beside a server, killed in between, in constant memory and as fast as the bulk route`, async (t) => {
  const documentOf = (at: number) => ({ $id: `d${at}`, text: `word w${at % 100} of ${at}`, n: at });
  writeFileSync(fileAt('large.ndjson'), lines(Array.from({ length: many }, (_, at) => documentOf(at))));
  const server: Server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  const headers = {
    'X-Service-Project': project.$id,
    'X-Service-Key': apiKey.secret,
    'Content-Type': 'application/json',
  };
  const path = (collection: string) => `${server.url}/databases/db/collections/${collection}/documents`;
  const totalOf = async (collection: string) => {
    const body = (await (await fetch(path(collection), { headers })).json()) as { total: number };
    return body.total;
  };
  const given = ['document', 'import', 'large.ndjson', ...of('large'), '--json'];
  const child = spawn(join(place.dir, 'bin/svc'), given, { cwd: place.dir, env: place.env, stdio: 'ignore' });
  while ((await totalOf('large')) === 0) await sleep(20);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const before = await totalOf('large');
  assert.ok(before > 0 && before < many, String(before));

  const started = performance.now();
  const again = spawn(join(place.dir, 'bin/svc'), [...given, '--report', 'taken.ndjson'], {
    ...{ cwd: place.dir, env: place.env, stdio: 'ignore' },
  });
  let largest = 0;
  const watching = setInterval(() => {
    try {
      const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${again.pid}/status`, 'utf8')) ?? [];
      largest = Math.max(largest, Number(kib) / 1024);
    } catch {
      // It has ended.
    }
  }, 50);
  const [code] = await once(again, 'exit');
  clearInterval(watching);
  const importMs = performance.now() - started;
  assert.equal(code, 1);
  const taken = read('taken.ndjson').trimEnd().split('\n');
  assert.equal(taken.length, before);
  assert.ok(taken.every((line) => JSON.parse(line).type === 'document_already_exists'));
  assert.equal(await totalOf('large'), many);

  const bulkFrom = performance.now();
  for (let at = 0; at < many; at += 100) {
    const documents = Array.from({ length: 100 }, (_, next) => ({ ...documentOf(at + next), $id: `d${at + next}` }));
    const response = await fetch(path('bulk'), { method: 'POST', headers, body: JSON.stringify({ documents }) });
    assert.equal(response.status, 201, await response.text());
  }
  const bulkMs = performance.now() - bulkFrom;
  const ratio = (many - before) / importMs / (many / bulkMs);
  t.diagnostic(
    `${Math.round(((many - before) / importMs) * 1000)} lines a second, ${ratio.toFixed(2)} of the bulk route, ${Math.round(largest)} MiB`,
  );
  assert.ok(ratio > 0.5, String(ratio));
  assert.ok(largest < 350, `${largest} MiB`);
  const found = await fetch(
    `${path('large')}?queries[0]=${encodeURIComponent('{"method":"search","attribute":"text","values":["w7"]}')}`,
    { headers },
  );
  assert.equal(((await found.json()) as { total: number }).total, many / 100);
  await place.json(['document', 'export', 'large-out.ndjson', ...of('large')]);
  assert.equal(read('large-out.ndjson').split('\n').length, many + 1);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('a row of CSV that is wrong costs itself only', async () => {
  const long = 'x'.repeat(34_000_000);
  const table: [rows: string[], refused: [line: number, message: RegExp][], written: string[]][] = [
    [['a,"x"y', 'b,fine', 'c,"fine"'], [[2, /closing quote has text after it/]], ['b', 'c']],
    [['a,"x"y,"two', 'lines"', 'b,fine'], [[3, /closing quote has text after it/]], ['b']],
    [[`a,${long}`, 'b,fine'], [[2, /more than \d+ bytes/]], ['b']],
    [[`a,"${long}`, '"', 'b,fine'], [[3, /more than \d+ bytes/]], ['b']],
    [['a,\xe9', 'b,\xc3\xa9'], [[2, /not UTF-8/]], ['b']],
    [
      ['a,b,c', 'b', 'c,5" screen', '', 'd,"a ""b"", c"\r'],
      [
        [2, /3 cells/],
        [3, /1 cells/],
      ],
      ['c', 'd'],
    ],
  ];
  for (const [at, [rows, refused, written]] of table.entries()) {
    const text = ['\xef\xbb\xbf"$id",text', ...rows].join('\n').replace(/^(\w),/gm, `row${at}$1,`);
    writeFileSync(fileAt('rows.csv'), text, 'latin1');
    const { code, counts } = await imported(['rows.csv', '--report', 'rows.ndjson', ...of('bulk')]);
    assert.deepEqual([code, counts.created, counts.failed], [1, written.length, refused.length], `table ${at}`);
    const told = read('rows.ndjson')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const [index, [line, message]] of refused.entries()) {
      assert.equal(told[index].line, line);
      assert.match(told[index].message, message);
    }
    const exported = await place.svc(['document', 'export', ...of('bulk')]);
    for (const id of written) assert.ok(exported.out.includes(`"$id":"row${at}${id}"`), id);
  }
  const kept = (await place.svc(['document', 'export', ...of('bulk')])).out;
  assert.match(kept, /"\$id":"row4b".*"text":"é"/);
  assert.match(kept, /"\$id":"row5c".*"text":"5\\" screen"/);
  assert.match(kept, /"\$id":"row5d".*"text":"a \\"b\\", c"/);
});

test('a document that has grown beyond the size of a request comes back from its export', async () => {
  const to = ['--project', project.$id, '--database', 'db'];
  for (const id of ['grown', 'grown-too']) {
    await place.json(['collection', 'create', id, '--id', id, ...to]);
    for (const key of ['one', 'two'])
      await place.json(['collection', 'add-attribute', id, key, '--type', 'string', '--size', '4000000', ...to]);
  }
  const server = await place.serve([], { SVC_RATE_LIMIT: 'off' });
  const path = `${server.url}/databases/db/collections/grown/documents`;
  const headers = {
    'X-Service-Project': project.$id,
    'X-Service-Key': apiKey.secret,
    'Content-Type': 'application/json',
  };
  const quotes = '"'.repeat(1_900_000);
  const created = await fetch(path, {
    ...{ method: 'POST', headers },
    body: JSON.stringify({ documentId: 'large', data: { one: quotes } }),
  });
  assert.equal(created.status, 201, await created.text());
  const changed = await fetch(`${path}/large`, {
    ...{ method: 'PATCH', headers },
    body: JSON.stringify({ data: { two: quotes } }),
  });
  assert.equal(changed.status, 200, await changed.text());
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
  for (const name of ['grown.ndjson', 'grown.csv']) {
    await place.json(['document', 'export', name, ...of('grown')]);
    const { counts } = await imported([name, '--upsert', ...of('grown-too')]);
    assert.deepEqual(counts, {
      created: name === 'grown.csv' ? 0 : 1,
      updated: 0,
      unchanged: name === 'grown.csv' ? 1 : 0,
      failed: 0,
    });
  }
});

test('an export that fails or is stopped leaves the file that was there', async () => {
  const scope = of('bulk').join(' ');
  writeFileSync(fileAt('kept.ndjson'), 'precious', { mode: 0o644 });
  const limited = await place.shell(`ulimit -f 1000; svc document export kept.ndjson ${scope}`);
  assert.equal(limited.code, 1, limited.err);
  assert.match(limited.err, /kept\.ndjson cannot be written: it would be larger/);
  assert.equal(read('kept.ndjson'), 'precious');
  const directory = await place.svc(['document', 'export', 'none/there.ndjson', ...of('bulk')]);
  assert.equal(directory.code, 1);
  assert.match(directory.err, /its directory does not exist/);

  writeFileSync(fileAt('many.ndjson'), lines(Array.from({ length: 20_000 }, (_, at) => ({ $id: `many${at}` }))));
  assert.equal((await imported(['many.ndjson', ...of('third')])).code, 0);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const given = ['document', 'export', 'kept.ndjson', ...of('third'), '--json'];
    const child = spawn(join(place.dir, 'bin/svc'), given, { cwd: place.dir, env: place.env });
    let err = '';
    child.stderr.on('data', (data) => {
      err += data;
    });
    const part = fileAt(`kept.ndjson.${child.pid}.part`);
    while (!existsSync(part) && child.exitCode === null) await sleep(1);
    child.kill(signal);
    const [ended] = await once(child, 'exit');
    assert.equal(ended, code, err);
    assert.equal(JSON.parse(err).error.type, 'export_stopped');
    assert.equal(read('kept.ndjson'), 'precious');
    assert.equal(existsSync(part), false);
  }
  await place.json(['document', 'export', 'kept.ndjson', ...of('third')]);
  assert.ok(read('kept.ndjson').split('\n').length > 20_000);
  assert.equal(statSync(fileAt('kept.ndjson')).mode & 0o777, 0o600);
});

test('a JSON array and columns apart by semicolons are refused as a whole, with what to do', async () => {
  for (const [name, text, message] of [
    ['array.json', '[\n{"$id":"array1"},\n{"$id":"array2"}\n]\n', /JSON array[\s\S]*next: .*jq -c/],
    ['line.json', '\n [{"$id":"array1"}]\n', /JSON array/],
    ['semicolons.csv', '$id;text\narray1;x\n', /no attribute[\s\S]*next: separate the columns by commas/],
  ] as const) {
    writeFileSync(fileAt(name), text);
    const { code, err } = await place.svc(['document', 'import', name, ...of('bulk')]);
    assert.equal(code, 2, err);
    assert.match(err, message);
  }
  assert.doesNotMatch((await place.svc(['document', 'export', ...of('bulk')])).out, /array[12]/);
});

test('a file that cannot be read, and a report in the place of the file, are refused', async () => {
  const unread = await place.svc(['document', 'import', '/proc/self/mem', ...of('bulk')]);
  assert.equal(unread.code, 3, unread.err);
  assert.match(unread.err, /\/proc\/self\/mem cannot be read: the disk reports an error \(EIO\)/);
  writeFileSync(fileAt('same.ndjson'), '{}\n');
  const same = await place.svc(['document', 'import', 'same.ndjson', '--report', './same.ndjson', ...of('bulk')]);
  assert.equal(same.code, 2);
  assert.match(same.err, /--report names the file that is imported/);
  assert.equal(read('same.ndjson'), '{}\n');
});

test('a signal ends an import after the documents that it has read, and the command says how far it came', async () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const given = ['document', 'import', '-', ...of('third'), '--upsert', '--json'];
    const child = spawn(join(place.dir, 'bin/svc'), given, { cwd: place.dir, env: place.env });
    let out = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    // More than one unit of work, and a line that has only begun.
    child.stdin.write(`${lines(Array.from({ length: 250 }, (_, at) => ({ $id: `${signal}-${at}` })))}{"$id":"half`);
    const totalOf = async () => {
      const exported = await place.svc(['document', 'export', ...of('third')]);
      return exported.out.split(signal).length - 1;
    };
    while ((await totalOf()) === 0) await sleep(50);
    child.kill(signal);
    const [ended] = await once(child, 'exit');
    assert.equal(ended, code, out);
    assert.deepEqual(JSON.parse(out), { created: 250, updated: 0, unchanged: 0, failed: 0, stoppedAfterLine: 250 });
    assert.equal(await totalOf(), 250);
  }
});

test('members of other services that are not imported are named', async () => {
  const known = { $sequence: '7', $collectionId: 'x', $databaseId: 'y', $tableId: 'z', $permissions: [] };
  const given = [
    { $id: 'f1', ...known, n: 1 },
    { $id: 'f2', $tenant: 4, '$\u001b[1m': 1, n: 2 },
  ];
  const quiet = await imported(['-', ...of('third')], lines(given.slice(0, 1)));
  assert.deepEqual(quiet.counts, { created: 1, updated: 0, unchanged: 0, failed: 0 });
  const told = await imported(['-', '--upsert', ...of('third')], lines(given));
  const counts = { created: 1, updated: 0, unchanged: 1, failed: 0 };
  assert.deepEqual(told.counts, { ...counts, ignored: ['$tenant', '$\u001b[1m'] });
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`$m${at}`, at]));
  const { out } = await place.svc(['document', 'import', '-', ...of('third')], {
    input: lines([many, given[1] ?? {}]),
  });
  assert.match(out, /Not imported: \$m0, .*\$m19\.\n$/);
});

test('an import takes texts as they are, also those that look like operators', async () => {
  const file = lines([{ $id: 'planted', text: '{"method":"stringConcat","values":["more"]}' }]);
  writeFileSync(fileAt('planted.ndjson'), file);
  const outcomes: Counts[] = [];
  for (const _ of [1, 2, 3]) outcomes.push((await imported(['planted.ndjson', '--upsert', ...of('third')])).counts);
  const none = { created: 0, updated: 0, unchanged: 1, failed: 0 };
  assert.deepEqual(outcomes, [{ ...none, created: 1, unchanged: 0 }, none, none]);
  const { out } = await place.svc(['document', 'export', ...of('third')]);
  assert.ok(out.includes(JSON.stringify(JSON.parse(file).text)), out);
});

test('a line break of any kind is in quotes in CSV, as other programs end a line at it', async () => {
  await aCollection('breaks');
  const texts = ['a\rb', 'a\nb', 'a\r\nb'];
  writeFileSync(fileAt('breaks.ndjson'), lines(texts.map((text, at) => ({ $id: `${at}`, text }))));
  assert.equal((await imported(['breaks.ndjson', ...of('breaks')])).counts.created, texts.length);
  await place.json(['document', 'export', 'breaks.csv', '--format', 'csv', ...of('breaks')]);
  for (const text of texts) assert.ok(read('breaks.csv').includes(`,"${text}",`), JSON.stringify(text));
});
