// What a newcomer is told when something is wrong: what is true, in words, and the step that mends it.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Finding = { code: string; message: string; fix: string };

const isRoot = process.getuid?.() === 0;
let place: Installation;
let settingsFile: string;
before(async () => {
  place = await install();
  settingsFile = join(place.dir, 'svc.env');
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
});
after(() => place.dispose());

const findingsOf = async (env: Record<string, string>): Promise<Finding[]> =>
  JSON.parse((await place.svc(['doctor', '--json'], { env })).out).findings;
const fixOf = async (code: string, env: Record<string, string>): Promise<[message: string, fix: string]> => {
  const { message = '', fix = '' } = (await findingsOf(env)).find((finding) => finding.code === code) ?? {};
  return [message, fix];
};

test('without a master key, doctor, config check and serve say how to set it or how its file is wrong', async () => {
  const whole = readFileSync(settingsFile, 'utf8');
  writeFileSync(settingsFile, whole.replace(/^SVC_MASTER_KEY=.*$/m, ''));
  const loop = join(place.dir, 'loop');
  symlinkSync(loop, loop);
  const of = (file: string) => ({ SVC_MASTER_KEY_FILE: file });
  const table: [Record<string, string>, RegExp, RegExp][] = [
    [{}, /SVC_MASTER_KEY is set neither in \S+svc\.env nor in the environment/, /^set SVC_MASTER_KEY in \S+svc\.env/],
    [of('/none'), /\/none, which cannot be read: it does not exist \(ENOENT\)/, /or correct SVC_MASTER_KEY_FILE$/],
    [of(loop), /loop, which cannot be read: its links lead in a circle \(ELOOP\)/, /^correct SVC_MASTER_KEY_FILE$/],
  ];
  for (const [env, said, next] of table) {
    const [message, fix] = await fixOf('configuration_invalid', env);
    assert.match(message, said);
    assert.match(fix, next);
    for (const command of [['config', 'check'], ['serve']]) {
      const { code, err } = await place.svc([...command, '--json'], { env });
      const { error } = JSON.parse(err);
      assert.equal(code, 7);
      assert.match(error.message, said);
      assert.match(error.fix, next);
    }
  }
  // A file of somebody else: root has another user to run as.
  const locked = join(place.dir, 'locked');
  writeFileSync(locked, '', { mode: 0o000 });
  chmodSync(place.dir, 0o755);
  chmodSync(settingsFile, 0o644);
  const as = isRoot ? 'setpriv --reuid=65534 --regid=65534 --clear-groups' : '';
  const { out } = await place.shell(`SVC_MASTER_KEY_FILE=${locked} ${as} svc doctor --json`);
  const { message, fix }: Finding = JSON.parse(out).findings[0];
  assert.match(message, /locked, which cannot be read: this user may not read it \(EACCES\)/);
  assert.match(fix, /^run the command as a user who may read it/);
  chmodSync(settingsFile, 0o600);
  writeFileSync(settingsFile, whole);
});

test('every command explains an unusable file or directory in words', async () => {
  const [loop, plain, long] = [join(place.dir, 'loop'), join(place.dir, 'plain'), join(place.dir, 'n'.repeat(300))];
  writeFileSync(plain, '');
  const table: [string[], Record<string, string>, RegExp][] = [
    [
      ['init', '--data-dir', join(plain, 'data'), '--config', './other.env'],
      {},
      /a part of its path is not a directory/,
    ],
    [['init', '--config', join(loop, 'svc.env')], {}, /its links lead in a circle \(ELOOP\)/],
    [['webhook', 'verify', '--signature', '00', '--secret-file', loop], {}, /its links lead in a circle \(ELOOP\)/],
    [['webhook', 'verify', '--signature', '00', '--secret-file', long], {}, /its name is too long \(ENAMETOOLONG\)/],
    [['serve', '--pidfile', join(plain, 'pid')], {}, /a part of its path is not a directory \(ENOTDIR\)/],
    [['config', 'check'], { SVC_FILES_URL: 'file:/proc/files' }, /cannot be written to: |cannot be created: /],
  ];
  for (const [args, env, said] of table) {
    if (isRoot && env.SVC_FILES_URL !== undefined) continue;
    const { code, err } = await place.svc(args, { env });
    assert.notEqual(code, 0, args.join(' '));
    assert.match(err, said, args.join(' '));
  }
  const readOnly = 'mount -t tmpfs -o ro none mounted';
  mkdirSync(join(place.dir, 'mounted'));
  // Not everybody may mount.
  if ((await place.shell(`unshare -m sh -c '${readOnly}'`)).code !== 0) return;
  for (const command of [
    'svc --config mounted/svc.env init',
    'svc --config other.env init --data-dir mounted/data',
    'SVC_FILES_URL=file:mounted svc config check',
    'svc serve --pidfile mounted/pid',
  ]) {
    const { code, err } = await place.shell(`unshare -m sh -c '${readOnly} && ${command}'`);
    assert.notEqual(code, 0, command);
    assert.match(err, /its file system is read-only \(EROFS\)/, command);
  }
});

test('config check knows another master key, and a data directory that is a file', async () => {
  const key = { SVC_MASTER_KEY: Buffer.alloc(32, 7).toString('base64url') };
  const other = await place.svc(['config', 'check', '--json'], { env: key });
  const { error } = JSON.parse(other.err);
  assert.deepEqual([other.code, error.type, other.out], [7, 'master_key_wrong', '']);
  assert.match(error.message, /has another master key than the settings/);
  assert.match(error.fix, /^restore the svc\.env of this database/);
  writeFileSync(join(place.dir, 'file'), '');
  const both = await place.svc(['config', 'check'], { env: { ...key, SVC_TEMPLATES_DIR: 'none' } });
  assert.equal(both.code, 7);
  assert.match(both.err, /SVC_TEMPLATES_DIR names no directory/);
  assert.match(both.err, /SVC_MASTER_KEY: This database has another master key than the settings/);
  const plain = await place.svc(['config', 'check'], { env: { SVC_DATA_DIR: join(place.dir, 'file') } });
  assert.equal(plain.code, 7);
  assert.match(plain.err, /The data directory cannot be used: \S+file is no directory/);
  // An empty database has no key yet.
  const empty = await install({ init: false });
  after(() => empty.dispose());
  if (empty.env.SVC_DATABASE_URL !== undefined)
    assert.equal((await empty.svc(['config', 'check'], { env: key })).code, 0);
});

test('doctor tells a directory of files that is not there from files that are lost', async () => {
  await place.sql(`insert into file_objects (key, project_id, bucket_key, file_id, number, size, stored_size, state, changed_at)
    values ('p/one', 'shop', 'b', 'f', 0, 1, 1, 'stored', '2020-01-01T00:00:00.000Z')`);
  const [away, hollow, right] = ['away', 'hollow', 'right'].map((name) => join(place.dir, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(hollow);
  mkdirSync(join(right, 'p'), { recursive: true });
  writeFileSync(join(right, 'p/two'), '1');
  for (const [directory, state] of [
    [away, 'does not exist'],
    [hollow, 'is empty'],
  ] as const) {
    const found = await findingsOf({ SVC_FILES_URL: `file:${directory}` });
    assert.ok(!found.some(({ code }) => code === 'files_missing'));
    const { message, fix } = found.find(({ code }) => code === 'file_store_unusable') as Finding;
    assert.ok(message.startsWith(`The directory ${directory}, where SVC_FILES_URL has the files, ${state}`), message);
    assert.match(fix, /^mount the directory, correct SVC_FILES_URL,/);
  }
  const [lost] = await fixOf('files_missing', { SVC_FILES_URL: `file:${right}` });
  assert.match(lost, /lacks the bytes of 1 object/);
  await place.sql(`delete from file_objects where key = 'p/one'`);
});

test('config check and the start report a duplicate setting with its lines', async () => {
  const whole = readFileSync(settingsFile, 'utf8');
  const lines = whole.trimEnd().split('\n').length;
  writeFileSync(settingsFile, `${whole.trimEnd()}\nSVC_SESSION_DAYS=7\n\nSVC_SESSION_DAYS=8\n`);
  const [first, second] = [lines + 1, lines + 3];
  const { code, out, err } = await place.svc(['config', 'check']);
  assert.equal(code, 0, err);
  assert.match(out, /The settings are valid/);
  assert.equal(
    err,
    `SVC_SESSION_DAYS is set in line ${first} and again in line ${second} of ${settingsFile}; line ${second} counts.\n`,
  );
  assert.match((await place.svc(['config', 'show'])).out, /^SVC_SESSION_DAYS +8$/m);
  const server = await place.serve();
  server.signal('SIGTERM');
  await server.ended;
  const warned = server
    .log()
    .split('\n')
    .find((line) => line.includes('config.repeated-name'));
  const { level, setting, lines: told } = JSON.parse(warned ?? '{}');
  assert.deepEqual([level, setting, told], ['warn', 'SVC_SESSION_DAYS', `${first}, ${second}`]);
  writeFileSync(settingsFile, whole);
});

test('a webhook or a provider at an address that is not let out: https, or the setting for development', async () => {
  const hook = (url: string) => [
    'webhook',
    'add',
    '--project',
    'shop',
    '--name',
    'Hook',
    '--events',
    '*',
    '--url',
    url,
  ];
  const oidc = ['provider', 'add', 'oidc', '--project', 'shop', '--key', 'acme', '--client-id', 'x', '--issuer'];
  for (const args of [
    hook('http://hooks.example.com/'),
    hook('http://127.0.0.1:3000/'),
    hook('https://10.0.0.1/'),
    [...oidc, 'http://login.example.com'],
  ]) {
    const { code, err } = await place.svc(args);
    assert.equal(code, 2, err);
    assert.match(err, /^error: The URL cannot be used: /);
    assert.match(
      err,
      /\nnext: give an https URL of a public host\. SVC_EGRESS_ALLOW allows .*SVC_WEBHOOK_ALLOW_INSECURE=true allows http/,
    );
  }
  const allowed = await place.svc(hook('http://127.0.0.1:3000/'), { env: { SVC_WEBHOOK_ALLOW_INSECURE: 'true' } });
  assert.equal(allowed.code, 0, allowed.err);
});

test('CSV without --format, a list in a CSV cell, and an unknown file ending are refused with a suggestion', async () => {
  const at = ['--project', 'shop', '--database', 'blog'];
  const of = [...at, '--collection', 'posts'];
  await place.json(['database', 'create', 'Blog', '--id', 'blog', '--project', 'shop']);
  await place.json(['collection', 'create', 'Posts', '--id', 'posts', ...at]);
  const text = ['--type', 'string', '--size', '20'];
  await place.json(['collection', 'add-attribute', 'posts', 'title', ...text, ...at]);
  await place.json(['collection', 'add-attribute', 'posts', 'tags', ...text, '--array', ...at]);
  const imported = (input: string, ...flags: string[]) =>
    place.svc(['document', 'import', '-', ...of, ...flags], { input });
  for (const input of ['title,tags\na,\n', 'title\na\n', '\n"$id";"title"\r\nx;y\r\n']) {
    const { code, err } = await imported(input);
    assert.deepEqual(
      [code, err],
      [2, 'error: The file is CSV, but was read as one JSON object per line.\nnext: add --format csv\n'],
    );
  }
  // What is no header is a line among others.
  assert.match((await imported('nothing, of the kind\n{"title":"a"}\n')).err, /^line 1: line_invalid: /);
  const list = await imported('title,tags\na,x;y\n', '--format', 'csv');
  assert.equal(list.code, 1);
  assert.match(
    list.err,
    /\nnext: write the list in the column tags as JSON in quotes, such as "\[""first"",""second""\]"/,
  );
  const [, cell] = /such as (".*") or/.exec(list.err) ?? [];
  assert.equal((await imported(`title,tags\na,${cell}\n`, '--format', 'csv')).code, 0);

  const exported = (file: string, ...flags: string[]) => place.svc(['document', 'export', file, ...of, ...flags]);
  const other = await exported('posts.xlsx');
  assert.equal(other.code, 0);
  assert.match(
    other.err,
    /^The ending \.xlsx names no form, .* Endings are \.csv, \.ndjson and \.jsonl; .*--format csv\.\n$/,
  );
  for (const [file, ...flags] of [['posts.csv'], ['posts.jsonl'], ['posts'], ['posts.txt', '--format', 'csv']] as const)
    assert.equal((await exported(file, ...flags)).err, '', file);
});
