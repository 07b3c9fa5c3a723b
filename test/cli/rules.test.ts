// What scripts rely on: exit codes, secrets, and what is printed where.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { code, readTable } from '../harness/markdown.js';
import { after } from '../harness/runner.js';

const password = 'correct horse battery';
let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
});
after(() => place.dispose());

const createUser = (email: string, ...more: string[]) =>
  place.json<{ $id: string }>(
    ['user', 'create', '--project', 'shop', '--email', email, '--password-stdin', ...more],
    `${password}\n`,
  );

test('exit codes, the same with and without --json', async () => {
  await createUser('taken@example.com', '--phone', '+14155550199');
  const table: [number, string, string[], string?][] = [
    [0, '', ['project', 'show', 'shop']],
    [2, 'general_argument_invalid', ['project', 'create', 'Bad', '--id', '_bad']],
    [2, 'general_argument_invalid', ['project', 'update', 'shop', '--set', 'session.days=0']],
    [2, 'general_argument_invalid', ['project', 'update', 'shop', '--set', 'session.dais=3']],
    [2, 'usage_invalid', ['project', 'update', 'shop']],
    [2, 'general_argument_invalid', ['platform', 'add', '--project', 'shop', '--hostname', 'https://example.com']],
    [2, 'general_argument_invalid', ['apikey', 'create', '--project', 'shop', '--name', 'a', '--scopes', 'nothing']],
    [
      2,
      'usage_invalid',
      ['apikey', 'create', '--project', 'shop', '--name', 'a', '--scopes', 'all', '--expires', 'soon'],
    ],
    [
      2,
      'usage_invalid',
      ['apikey', 'create', '--project', 'shop', '--name', 'a', '--scopes', 'all', '--expires', '2020-01-01T00:00:00Z'],
    ],
    [2, 'usage_invalid', ['user', 'create', '--project', 'shop', '--email', 'nobody', '--password-stdin'], password],
    [2, 'usage_invalid', ['user', 'create', '--project', 'shop', '--email', 'a@example.com']],
    [
      2,
      'password_policy_violation',
      ['user', 'create', '--project', 'shop', '--email', 'a@example.com', '--password-stdin'],
      'short',
    ],
    [2, 'usage_invalid', ['user', 'list', '--project', 'shop', '--limit', 'all']],
    [2, 'usage_invalid', ['limits', 'show', '--project', 'shop', '--ip', '::1', '--user', 'a@example.com']],
    [2, 'usage_invalid', ['limits', 'show', '--ip', '::1']],
    [2, 'usage_invalid', ['webhook', 'add']],
    [3, 'project_not_found', ['project', 'show', 'none']],
    [3, 'project_not_found', ['user', 'list', '--project', 'none']],
    [3, 'user_not_found', ['user', 'block', 'none@example.com', '--project', 'shop']],
    [3, 'key_not_found', ['apikey', 'revoke', 'none', '--yes']],
    [3, 'platform_not_found', ['platform', 'remove', 'none']],
    [3, 'file_not_found', ['user', 'create', '--project', 'shop', '--email', 'a@example.com', '--secret-file', 'none']],
    [4, 'confirmation_refused', ['project', 'delete', 'shop']],
    [4, 'confirmation_refused', ['project', 'delete', 'shop', '--yes']],
    [4, 'confirmation_refused', ['project', 'delete', 'shop', '--confirm', 'other']],
    [4, 'confirmation_refused', ['user', 'delete', 'taken@example.com', '--project', 'shop']],
    [5, 'project_already_exists', ['project', 'create', 'Again', '--id', 'shop']],
    [
      5,
      'user_already_exists',
      ['user', 'create', '--project', 'shop', '--email', 'Taken@example.com', '--password-stdin'],
      password,
    ],
  ];
  const seen = new Set<number>();
  for (const [expected, type, args, input = ''] of table) {
    const json = await place.svc([...args, '--json'], { input });
    assert.equal(json.code, expected, `${args.join(' ')}: ${json.err}`);
    if (!seen.has(expected)) {
      const plain = await place.svc(args, { input });
      assert.equal(plain.code, expected);
      if (expected !== 0) assert.match(plain.err, /^error: .+\nnext: .+\n$/);
      if (expected !== 0) assert.equal(plain.out, '');
      seen.add(expected);
    }
    if (expected === 0) continue;
    assert.equal(json.out, '');
    const { error } = JSON.parse(json.err);
    assert.equal(error.type, type, args.join(' '));
    assert.ok(error.message !== '' && error.fix !== '');
  }
});

test('secrets are masked where settings are shown, and stay out of the process list', async () => {
  const key = /^SVC_MASTER_KEY=(.+)$/m.exec(readFileSync(join(place.dir, 'svc.env'), 'utf8'))?.[1] ?? '';
  const env = {
    SVC_DATABASE_URL: 'postgres://svc:verborgen@db.example.com/svc',
    SVC_BREACH_URL: 'https://u:verborgen@example.com/',
  };
  for (const args of [
    ['config', 'show'],
    ['config', 'show', '--origin', '--json'],
    ['config', 'check', '--verbose'],
  ]) {
    const { code, out, err } = await place.svc(args, { env });
    // Nobody serves a database there, which the check says.
    assert.equal(code, args.includes('check') ? 6 : 0);
    assert.ok(!(out + err).includes(key) && !(out + err).includes('verborgen'), args.join(' '));
  }
  const { out } = await place.svc(['config', 'show'], { env });
  assert.match(out, /SVC_DATABASE_URL +postgres:\/\/svc:\*\*\*@db\.example\.com\/svc/);
  const { settings } = await place.json<{ settings: { key: string; origin: string }[] }>([
    'config',
    'show',
    '--origin',
  ]);
  const origin = (name: string) => settings.find((setting) => setting.key === name)?.origin;
  assert.deepEqual(
    [origin('SVC_MASTER_KEY'), origin('SVC_PORT'), origin('SVC_SESSION_DAYS'), origin('SVC_TLS_CERT')],
    ['file', 'environment', 'default', 'unset'],
  );

  const server = await place.serve();
  const command = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => read(`/proc/${pid}/cmdline`));
  assert.ok(command.some((line) => line.includes('serve')));
  assert.deepEqual(
    command.filter((line) => line.includes(key) || line.includes('verborgen')),
    [],
  );
  server.signal('SIGTERM');
  await server.ended;
  assert.ok(!server.log().includes(key));
});

test('NO_COLOR, --quiet and --verbose', async () => {
  const quiet = await place.svc(['project', 'create', 'Quiet', '--quiet']);
  assert.equal(quiet.err, '');
  const loud = await place.svc(['project', 'create', 'Loud']);
  assert.match(loud.err, /^next: svc apikey create/);
  assert.equal(
    (await place.svc(['project', 'list', '--no-color'], { env: { FORCE_COLOR: '1' } })).out.includes('\u001b'),
    false,
  );
});

test('a password file and a phone number', async () => {
  writeFileSync(join(place.dir, 'password.txt'), `${password}\n`);
  const args = ['user', 'create', '--project', 'shop', '--email', 'file@example.com', '--secret-file', 'password.txt'];
  const user = await place.json<{ email: string; phone: string; targets: { providerType: string }[] }>([
    ...args,
    '--phone',
    '+14155550123',
  ]);
  assert.equal(user.phone, '+14155550123');
  assert.deepEqual(
    user.targets.map(({ providerType }) => providerType),
    ['email', 'sms'],
  );
  assert.equal((await place.svc([...args, '--password-stdin'])).code, 2);
  const { total, users } = await place.json<{ total: number; users: unknown[] }>([
    'user',
    'list',
    '--project',
    'shop',
    '--limit',
    '1',
  ]);
  assert.ok(total > 1);
  assert.equal(users.length, 1);
});

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

test('limits show lists the classes, and the counters of a given project', async () => {
  const { classes, ...rest } = await place.json<{ classes: { class: string }[] }>(['limits', 'show']);
  assert.deepEqual(rest, {});
  const documented = readTable('docs/limits.md', 'class').map(([name]) => code(name));
  assert.deepEqual(new Set(classes.map((one) => one.class)), new Set(documented));
  const ofShop = await place.json<object>(['limits', 'show', '--project', 'shop']);
  assert.deepEqual(Object.keys(ofShop), ['limits', 'classes']);
});

test('openapi prints the same JSON with and without --json', async () => {
  const [plain, json] = [
    await place.svc(['openapi', '--project', 'shop']),
    await place.json(['openapi', '--project', 'shop']),
  ];
  assert.deepEqual(JSON.parse(plain.out), json);
});

test('a shell that lets open too few files is named, with what to do', async () => {
  const { code, err } = await place.shell('ulimit -n 30; svc project list');
  assert.deepEqual(
    [code, err],
    [
      7,
      'error: No more files can be opened (EMFILE).\nnext: allow more: ulimit -n 4096 in a shell, LimitNOFILE= in a unit of systemd\n',
    ],
  );
});
