// Names that were stored before they were refused: what the command prints neither steers the terminal nor forges rows.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Installation, install, type Run } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const evil = '\u001b]0;pwned\u0007\u001b[2J\r\nforged  row\n\n\u009b31m\u2028\u202egnp.exe\u0085\u007f';
const shown = '\\u001b]0;pwned\\u0007\\u001b[2J\\r\\nforged  row\\n\\n\\u009b31m\\u2028\\u202egnp.exe\\u0085\\u007f';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const steering = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const of = ['--project', 'shop'];
  await place.json(
    ['user', 'create', '--email', 'ada@example.com', '--id', 'ada', '--name', 'n', '--password-stdin', ...of],
    'long password\n',
  );
  await place.json(['team', 'create', 'n', '--id', 'team', ...of]);
  await place.json(['team', 'add', 'team', 'ada', '--roles', 'owner', ...of]);
  await place.json(['database', 'create', 'n', '--id', 'db', ...of]);
  await place.json(['collection', 'create', 'n', '--id', 'col', '--database', 'db', ...of]);
  await place.json([
    'webhook',
    'add',
    '--name',
    'n',
    '--url',
    'https://hooks.example.com',
    '--events',
    '*',
    '--id',
    'hook',
    ...of,
  ]);
  await place.json(['platform', 'add', '--hostname', 'app.example.com', ...of]);
  await place.json(['apikey', 'create', '--name', 'n', '--scopes', 'all', ...of]);
});
after(() => place.dispose());

const tables = ['projects', 'users', 'teams', 'databases', 'collections', 'webhooks', 'platforms', 'api_keys'];
const project = ['--project', 'shop'];
const commands: string[][] = [
  ...[
    ['project', 'list'],
    ['project', 'show', 'shop'],
    ['apikey', 'list', ...project],
    ['platform', 'list', ...project],
  ],
  ...[
    ['user', 'list', ...project],
    ['user', 'show', 'ada', ...project],
  ],
  ...[
    ['team', 'list', ...project],
    ['team', 'show', 'team', ...project],
    ['team', 'members', 'team', ...project],
  ],
  ...[
    ['database', 'list', ...project],
    ['database', 'show', 'db', ...project],
  ],
  ...[
    ['collection', 'list', '--database', 'db', ...project],
    ['collection', 'show', 'col', '--database', 'db', ...project],
  ],
  ...[
    ['webhook', 'list', ...project],
    ['webhook', 'show', 'hook', ...project],
  ],
  // These refuse, and name what they are asked to delete.
  ...[
    ['project', 'delete', 'shop', '--no-input'],
    ['database', 'delete', 'db', '--no-input', ...project],
  ],
  ...[
    ['apikey', 'revoke', evil, '--no-input', ...project],
    ['team', 'delete', 'team', '--no-input', ...project],
  ],
  ...[
    ['project', 'show', evil],
    ['user', 'show', evil, ...project],
    ['user', 'sho\u001b[31m'],
    ['migrate', 'down', '--confirm', evil],
  ],
];
const name = (value: string) =>
  Promise.all(
    tables.map((table) =>
      place.sql(`update ${table} set name = '${value}'${table === 'projects' ? " where id = 'shop'" : ''}`),
    ),
  );
const linesOf = ({ out, err }: Run) => [out.split('\n').length, err.split('\n').length];

test('every command prints a stored name in one piece, with its control characters written out', async () => {
  let seen = 0;
  for (const command of commands) {
    await name('n');
    const calm = await place.svc(command.map((word) => (word === evil ? 'n' : word)));
    await name(evil);
    const { code, out, err } = await place.svc(command);
    const what = command.join(' ');
    assert.doesNotMatch(out, steering, what);
    assert.doesNotMatch(err, steering, what);
    assert.equal(code, calm.code, `${what} ${err}`);
    assert.deepEqual(linesOf({ code, out, err }), linesOf(calm), `${what}\n${out}${err}`);
    if (`${out}${err}`.includes(shown)) seen += 1;
  }
  assert.ok(seen >= 18, `${seen} commands printed the name`);
});

test('programs are given the name itself, in JSON that steers nothing either', async () => {
  await name(evil);
  for (const command of [
    ['user', 'show', 'ada', ...project],
    ['team', 'show', 'team', ...project],
    ['project', 'show', 'shop'],
  ]) {
    const { code, out } = await place.svc([...command, '--json']);
    assert.equal(code, 0);
    assert.doesNotMatch(out, steering);
    assert.equal(JSON.parse(out).name, evil);
  }
  const { err } = await place.svc(['project', 'delete', 'shop', '--no-input', '--json']);
  assert.doesNotMatch(err, steering);
  assert.match(JSON.parse(err).error.type, /\w/);
});

/** Every name that an operator sets without an operation of the interface. */
const set: string[][] = [
  ['project', 'create', evil],
  ['project', 'update', 'shop', '--name', evil],
  ['apikey', 'create', '--name', evil, '--scopes', 'all', ...project],
  ['platform', 'add', '--hostname', 'b.example.com', '--name', evil, ...project],
  ['user', 'update', 'ada', '--name', evil, ...project],
  ['user', 'create', '--email', 'b@example.com', '--name', evil, '--password-stdin', ...project],
  ['team', 'create', evil, ...project],
  ['team', 'update', 'team', '--name', evil, ...project],
  ['database', 'create', evil, ...project],
  ['collection', 'create', evil, '--database', 'db', ...project],
  ['webhook', 'update', 'hook', '--name', evil, ...project],
];
for (const command of set) {
  test(`svc ${command.slice(0, 2).join(' ')} refuses such a name`, async () => {
    const { code, out, err } = await place.svc(command, { input: 'a long password\n' });
    assert.equal(code, 2, err);
    assert.equal(out, '');
    assert.match(err, /control characters/);
    assert.doesNotMatch(err, steering);
  });
}
