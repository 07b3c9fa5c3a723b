// Setting up: init, settings, and the schema.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { settings } from '#src/platform/config/schema.js';
import { root } from '../harness/checkout.js';
import { type Installation, install } from '../harness/cli.js';
import { provideCurl } from '../harness/curl.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';

const places: Installation[] = [];
after(() => Promise.all(places.map((place) => place.dispose())));
const fresh = async (options?: { init?: boolean }) => {
  const place = await install(options);
  places.push(place);
  return place;
};

type Initialised = {
  config: string;
  database: string;
  project?: { $id: string; name: string };
  apiKey?: { secret: string; scopes: string[] };
};

test('the template names every setting with its default, and no other', () => {
  const template = readFileSync(join(root, 'templates/config/svc.env'), 'utf8');
  const lines = [...template.matchAll(/^#(SVC_[A-Z_]+)=(.*)$/gm)].map(([, key, value]) => [key, value]);
  const known = Object.values(settings).map(({ key, fallback }) => [key, fallback ?? '']);
  assert.deepEqual(lines.sort(), known.sort());
  for (const line of template.split('\n')) assert.match(line, /^(#.*)?$/, 'nothing is in force');
});

test('init writes settings for the owner only, and a second run changes nothing', async () => {
  const place = await fresh({ init: false });
  const first = await place.json<Initialised>(['init', '--yes', '--project', 'My app']);
  assert.equal(first.config, join(place.dir, 'svc.env'));
  assert.equal(first.project?.name, 'My app');
  assert.match(first.apiKey?.secret ?? '', /^sk_/);
  assert.equal(statSync(first.config).mode & 0o777, 0o600);
  assert.equal(statSync(join(place.dir, 'data')).mode & 0o777, 0o700);
  const written = readFileSync(first.config, 'utf8');
  assert.match(written, /^SVC_MASTER_KEY=[A-Za-z0-9_-]{43}$/m);
  assert.doesNotMatch(written, /^SVC_DATABASE_URL=.*:.*@/m);

  const again = await place.svc(['init', '--yes', '--project', 'My app', '--port', '9']);
  assert.equal(again.code, 0);
  assert.match(again.err, /nothing was changed/);
  assert.equal(readFileSync(first.config, 'utf8'), written);
  const second = await place.json<Initialised>(['init', '--yes', '--project', 'My app']);
  const { config, database, project } = first;
  assert.deepEqual(second, { config, database, project });
  assert.equal((await place.json<{ total: number }>(['project', 'list'])).total, 1);
});

test('init takes flags before the environment, and a database URL with a password from stdin only', async () => {
  const place = await fresh({ init: false });
  const { svc, dir } = place;
  // Where the environment names a database, the flag comes first.
  const refused = await svc(['init', '--yes', '--database', 'postgres://svc:geheim@localhost/svc']);
  assert.equal(refused.code, 2);
  assert.doesNotMatch(refused.err, /geheim/);
  assert.equal((await svc(['init', '--yes', '--database=postgres://localhost/svc?password=geheim'])).code, 2);
  assert.equal((await svc(['init', '--yes', '--port', '70000'])).code, 2);
  assert.equal((await svc(['init', '--yes'], { env: { SVC_PORT: 'many' } })).code, 7);
  assert.equal(existsSync(join(dir, 'svc.env')), false);

  // Nobody listens there: nothing is left that the next run would prefer.
  const url = 'postgres://svc:geheim@127.0.0.1:1/svc';
  const away = await svc(['init', '--yes', '--database', '-', '--port', '8099', '--json'], { input: `${url}\n` });
  assert.equal(away.code, 6);
  assert.doesNotMatch(away.out + away.err, /geheim/);
  const { message, fix } = JSON.parse(away.err).error;
  assert.equal(
    message,
    'postgres://svc:***@127.0.0.1:1/svc: No database server listens there (ECONNREFUSED). Nothing was written.',
  );
  // There are no settings yet that svc config could show.
  assert.equal(
    fix,
    'start it, or correct host and port, then run svc init again; --database URL names another database',
  );
  assert.deepEqual(readdirSync(dir), ['bin']);
  const { code, err } = await svc(['init', '--yes', '--port', '8099', '--project', 'Über uns']);
  assert.equal(code, 0, err);
  const written = readFileSync(join(dir, 'svc.env'), 'utf8');
  assert.match(written, /^SVC_PORT=8099$/m);
  assert.match(written, /^SVC_BASE_URL=http:\/\/localhost:8099\/v1$/m);
});

test('init refuses what cannot be used before it writes anything', async () => {
  const { svc, dir } = await fresh({ init: false });
  writeFileSync(join(dir, 'file'), '');
  for (const [args, expected] of [
    [['--data-dir', join(dir, 'file')], 7],
    [['--data-dir', join(dir, 'file/data')], 7],
    [['--data-dir', '/proc/none'], 7],
    [['--project', ' '], 2],
    [['--project-id', 'shop'], 2],
    [['--project', 'Shop', '--project-id', '_shop'], 2],
  ] as const) {
    const { code, err } = await svc(['init', '--yes', ...args]);
    assert.equal(code, expected, `${args.join(' ')}: ${err}`);
    assert.deepEqual(readdirSync(dir).sort(), ['bin', 'file'], args.join(' '));
  }
});

test('a taken port is refused, with one that is free and an address that is right', async () => {
  const { svc, dir, serve } = await fresh({ init: false });
  // Below the ports that the system gives out, so that no other test takes the next one.
  const port = String(randomInt(20_000, 30_000));
  const taken = createServer().listen(Number(port), '127.0.0.1').unref();
  await once(taken, 'listening');
  for (const [args, env, next] of [
    [['--port', port], {}, /^next: choose another port: --port (\d+), or end that process$/m],
    [[], { SVC_PORT: port }, /^next: set SVC_PORT=(\d+), or end that process$/m],
  ] as const) {
    const { code, err } = await svc(['init', '--yes', ...args], { env });
    assert.equal(code, 1, err);
    assert.match(err, new RegExp(`^error: Another process listens on 127\\.0\\.0\\.1 port ${port}\\.\n`, 'm'));
    assert.ok(Number(next.exec(err)?.[1]) > Number(port), err);
    assert.deepEqual(readdirSync(dir), ['bin'], 'nothing is written');
  }
  taken.close();
  await once(taken, 'close');
  assert.equal((await svc(['init', '--yes', '--port', port])).code, 0);
  taken.listen(Number(port), '127.0.0.1').unref();
  await once(taken, 'listening');
  const refused = await svc(['serve'], { env: { SVC_PORT: '' } });
  assert.equal(refused.code, 1);
  const [, free, url] = /set SVC_PORT=(\d+) and SVC_BASE_URL=(\S+) in \S+svc\.env\n/.exec(refused.err) ?? [];
  // What has chosen the port is what has to be changed.
  const byFlag = await svc(['serve', '--port', port]);
  assert.match(byFlag.err, /\nnext: end that process, or choose another port: --port \d+\n$/);
  const byEnvironment = await svc(['serve'], { env: { SVC_PORT: port } });
  assert.match(byEnvironment.err, /set SVC_PORT=\d+ in the environment and SVC_BASE_URL=\S+ in \S+svc\.env\n$/);
  assert.equal(url, `http://localhost:${free}/v1`, refused.err);
  const server = await serve([], { SVC_PORT: String(free), SVC_BASE_URL: String(url) });
  assert.equal(server.url, url);
  const again = await svc(['init', '--yes', '--port', '1', '--base-url', 'https://example.com/v1']);
  assert.match(again.err, new RegExp(`${dir}/svc\\.env exists and is used as it is; ignored: --base-url, --port`));
  taken.close();
});

test('the project of init has a readable id, and what init prints signs a user up as it is pasted', async () => {
  const { svc, shell, serve, json, dir } = await fresh({ init: false });
  provideCurl(join(dir, 'bin'));
  const init = await svc(['init', '--yes', '--project', 'My App', '--port', String(await freePort())], {
    env: { SVC_PORT: '' },
  });
  assert.equal(init.code, 0, init.err);
  const { url } = await serve([], { SVC_PORT: '' });
  const snippet = init.out.slice(init.out.indexOf('  curl'));
  assert.ok(snippet.includes(`${url}/account`), init.out);
  const signUp = await shell(snippet);
  assert.match(signUp.out, /"email":"anna@example\.com"/, signUp.err);
  for (const id of ['my-app-2', 'my-app-3'])
    assert.equal((await json<{ $id: string }>(['project', 'create', 'My app!'])).$id, id);
});

test('init keeps secrets of the environment out of the file', async () => {
  const place = await fresh({ init: false });
  const key = Buffer.alloc(32, 7).toString('base64url');
  const env = { SVC_MASTER_KEY: key };
  assert.equal((await place.svc(['init', '--yes'], { env })).code, 0);
  assert.doesNotMatch(readFileSync(join(place.dir, 'svc.env'), 'utf8'), /^SVC_(MASTER_KEY|DATABASE_URL)=/m);
  assert.equal((await place.svc(['project', 'list'])).code, 7, 'without the environment there is no key');
  assert.equal((await place.svc(['project', 'list'], { env })).code, 0);
  const other = { SVC_MASTER_KEY: Buffer.alloc(32, 8).toString('base64url') };
  for (const args of [['project', 'list'], ['serve'], ['init', '--yes']]) {
    const { code, err } = await place.svc(args, { env: other });
    assert.equal(code, 7, args.join(' '));
    assert.match(err, /another master key/);
  }
});

test('init does not replace a lost settings file, because the database needs its key', async () => {
  const place = await fresh();
  const file = join(place.dir, 'svc.env');
  const kept = readFileSync(file, 'utf8');
  rmSync(file);
  const { code, err } = await place.svc(['init', '--yes']);
  assert.equal(code, 7, err);
  assert.match(err, /another master key.*\nnext: restore the svc\.env of this database/s);
  assert.ok(!existsSync(file));
  writeFileSync(file, kept);
  assert.equal((await place.svc(['project', 'list'])).code, 0);
});

test('init reports a directory that it cannot write, and follows --config and SVC_CONFIG', async () => {
  const { dir, svc } = await fresh({ init: false });
  assert.equal((await svc(['init', '--yes', '--config', join(dir, 'none/svc.env')])).code, 3);
  mkdirSync(join(dir, 'etc'));
  assert.equal((await svc(['init', '--yes'], { env: { SVC_CONFIG: 'etc/a.env' } })).code, 0);
  assert.ok(existsSync(join(dir, 'etc/a.env')));
  assert.equal((await svc(['project', 'list', '--config', 'etc/a.env'])).code, 0);
  const missing = await svc(['project', 'list', '--config', 'etc/b.env']);
  assert.equal(missing.code, 7);
  for (const [env, setting] of [
    [{ SVC_DATA_DIR: 'other' }, 'SVC_DATA_DIR'],
    [{ SVC_DATABASE_URL: 'sqlite:other.db' }, 'SVC_DATABASE_URL'],
  ] as const) {
    const absent = await svc(['project', 'list', '--config', 'etc/a.env'], { env });
    const isFile = setting === 'SVC_DATABASE_URL' || process.env.SVC_TEST_DATABASE !== 'postgres';
    assert.equal(absent.code, isFile ? 7 : 0, absent.err);
    if (isFile)
      assert.match(absent.err, new RegExp(`no database at .*Is ${setting} right\\?\\nnext: correct ${setting}`));
  }
  const elsewhere = await svc(['init', '--yes', '--config', 'etc/my own.env', '--project', 'Own'], {
    env: { SVC_DATA_DIR: join(dir, 'own') },
  });
  if (process.env.SVC_TEST_DATABASE !== 'postgres')
    assert.match(elsewhere.out, /Start the server:\n\n {2}svc --config 'etc\/my own\.env' serve\n/, elsewhere.err);
  assert.match(missing.err, /does not exist\.\n.*svc --config etc\/b\.env init/);
});

test('no step is taken back while a server uses the database, on whatever port', async () => {
  const place = await fresh({ init: false });
  assert.equal((await place.svc(['init', '--yes'])).code, 0);
  const { applied } = await place.json<{ applied: string[] }>(['migrate', 'status']);
  const server = await place.serve();
  const { code, err } = await place.svc(['migrate', 'down', '--confirm', place.database]);
  assert.equal(code, 5, err);
  assert.match(err, /A server of svc uses this database: process \d+ on .*\nnext: stop the server/);
  assert.deepEqual((await place.json<{ applied: string[] }>(['migrate', 'status'])).applied, applied);
  server.signal('SIGTERM');
  await server.ended;
  const stopped = await place.svc(['migrate', 'down', '--confirm', place.database]);
  assert.equal(stopped.code, 0, stopped.err);
  assert.match(stopped.out + stopped.err, /once more for each further step/);
});

test('the schema is planned, applied, taken back and applied again', async () => {
  const place = await fresh({ init: false });
  const { svc, json, dir } = place;
  assert.equal((await svc(['init', '--yes'])).code, 0);
  const { applied } = await json<{ applied: string[] }>(['migrate', 'status']);
  assert.ok(applied.includes('0001_spine'));
  assert.equal((await svc(['migrate', '--plan'])).code, 0);

  for (const args of [[], ['--yes'], ['--confirm', 'wrong']]) {
    const { code, err } = await svc(['migrate', 'down', ...args]);
    assert.equal(code, 4, args.join(' '));
    assert.ok(err.includes(place.database), err);
  }
  for (const name of [...applied].reverse()) {
    const { changed } = await json<{ changed: string[] }>(['migrate', 'down', '--confirm', place.database]);
    assert.deepEqual(changed, [name]);
  }
  assert.deepEqual(await json(['migrate', 'status']), { pending: applied, applied: [] });
  assert.equal((await svc(['migrate', 'down', '--confirm', place.database])).code, 0, 'nothing is left to take back');

  const plan = await svc(['migrate', 'up', '--plan', '--json']);
  assert.equal(plan.code, 5);
  assert.ok(JSON.parse(plan.out).sql.some((sql: string) => /^create table .?users/.test(sql)));
  assert.deepEqual(
    (await json<{ pending: string[] }>(['migrate', 'status'])).pending,
    applied,
    'planning writes nothing',
  );
  const refused = await svc(['project', 'list', '--json']);
  assert.equal(refused.code, 7);
  assert.equal(JSON.parse(refused.err).error.fix, 'svc migrate');
  assert.equal((await svc(['migrate', '--to', '99'])).code, 2);
  assert.deepEqual((await json<{ changed: string[] }>(['migrate', '--to', '1'])).changed, ['0001_spine']);
  assert.equal((await svc(['migrate'])).code, 0);
  assert.equal((await svc(['project', 'list'])).code, 0);
  writeFileSync(join(dir, 'svc.env'), 'SVC_PROT=1\nSVC_UNLIKE_ALL_OTHERS_THERE_ARE=1\n', { flag: 'a' });
  const mistyped = await svc(['config', 'check']);
  assert.equal(mistyped.code, 7);
  assert.match(mistyped.err, /SVC_PROT .*did you mean SVC_PORT/);
  assert.match(mistyped.err, /SVC_UNLIKE_ALL_OTHERS_THERE_ARE in the configuration file is not a setting($|[^;])/m);
});

test('config check reports the state of the database, warns of unknown settings, and requires the texts that settings name', async () => {
  const { svc, serve } = await fresh();
  const check = (env: Record<string, string>, ...flags: string[]) => svc(['config', 'check', ...flags], { env });
  const fine = await check({ SVC_TEST_ANYTHING: '1', SVC_CONFIG: '' });
  assert.deepEqual([fine.code, fine.err], [0, '']);
  const mistyped = { SVC_PRT: '1', SVC_UNLIKE_ALL_OTHERS_THERE_ARE: '1' };
  const warned = await check(mistyped);
  assert.equal(warned.code, 0);
  assert.match(warned.err, /SVC_PRT \(did you mean SVC_PORT\?\), which is not a setting/);
  assert.match(warned.err, /SVC_UNLIKE_ALL_OTHERS_THERE_ARE, which is not a setting/);
  assert.equal(JSON.parse((await check(mistyped, '--json')).out).warnings.length, 2);
  const server = await serve([], mistyped);
  server.signal('SIGTERM');
  await server.ended;
  assert.equal(server.log().match(/config\.unknown-names/g)?.length, 1);
  assert.match(server.log(), /SVC_PRT \(did you mean SVC_PORT\?\)/);

  const away = await check({ SVC_DATABASE_URL: 'postgres://svc:geheim@127.0.0.1:1/svc' });
  assert.equal(away.code, 6);
  assert.match(away.err, /No database server listens there \(ECONNREFUSED\)/);
  const both = await check({
    SVC_DATABASE_URL: 'postgres://svc:geheim@127.0.0.1:1/svc',
    SVC_TEMPLATES_DIR: 'not/there',
  });
  assert.equal(both.code, 7);
  assert.match(both.err, /SVC_TEMPLATES_DIR names no directory: .*not\/there/);
  assert.match(both.err, /SVC_DATABASE_URL: No database server listens there/);
  assert.doesNotMatch(both.err, /geheim/);
  const absent = await check({ SVC_DATABASE_URL: 'sqlite:none.db' });
  assert.equal(absent.code, 0);
  assert.match(absent.err, /There is no database at .*none\.db yet/);
});

test('settings that cannot be read, and a database that may not be looked at, are no missing ones', async () => {
  const { svc, dir } = await fresh();
  const unreadable = await svc(['user', 'list', '--project', 'p', '--config', dir]);
  assert.equal(unreadable.code, 7, unreadable.err);
  assert.match(unreadable.err, /is a directory/);
  const loop = join(dir, 'loop');
  symlinkSync(loop, loop);
  for (const args of [
    ['user', 'list', '--project', 'p'],
    ['migrate', 'status'],
  ]) {
    const unseen = await svc(args, { env: { SVC_DATABASE_URL: `sqlite:${loop}` } });
    assert.equal(unseen.code, 6, unseen.err);
    assert.match(unseen.err, /SQLITE_CANTOPEN|cannot be opened/);
    assert.doesNotMatch(unseen.err, /svc init/);
  }
});

test('settings of another user are reported with their readers and the command to run as that user', async (t) => {
  if (process.getuid?.() !== 0 || spawnSync('setpriv', ['--version']).status !== 0)
    return t.skip('needs root and setpriv');
  const { dir, shell } = await fresh({ init: false });
  chmodSync(dir, 0o755);
  writeFileSync(join(dir, 'svc.env'), 'SVC_PORT=0\n', { mode: 0o600 });
  for (const [command, rest] of [
    ['svc project list', 'project list'],
    ["svc project create 'My app' --config svc.env", "project create 'My app'"],
  ]) {
    const { code, err } = await shell(`setpriv --reuid=65534 --regid=65534 --clear-groups ${command}`);
    assert.equal(code, 4, err);
    const file = join(dir, 'svc.env');
    assert.equal(
      err,
      `error: The configuration file ${file} cannot be read by this user: it belongs to root.\nnext: sudo -u root svc --config ${file} ${rest}\n`,
    );
  }
});

test('looking at a database that does not exist creates none', async () => {
  const { svc, dir, env } = await fresh({ init: false });
  if (env.SVC_DATABASE_URL !== undefined) return;
  const key = { SVC_MASTER_KEY: Buffer.alloc(32, 7).toString('base64url') };
  assert.equal((await svc(['migrate', '--plan'], { env: key })).code, 5);
  assert.equal((await svc(['migrate', 'status'], { env: key })).code, 0);
  for (const args of [['project', 'list'], ['serve']]) assert.equal((await svc(args, { env: key })).code, 7);
  assert.equal(existsSync(join(dir, 'data')), false);
  assert.equal((await svc(['migrate'], { env: key })).code, 0);
  assert.equal(statSync(join(dir, 'data/svc.db')).mode & 0o777, 0o600);
  assert.equal((await svc(['project', 'list'], { env: key })).code, 0);
});
