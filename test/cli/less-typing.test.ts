// Shorter command lines: the project by default, words of other programs, and texts whose quotes are missing.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { holds } from '../db/moods.js';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

let place: Installation;
before(async () => {
  place = await install();
});
after(() => place.dispose());

const failing = async (args: readonly string[]) => {
  const { code, out, err } = await place.svc(args);
  assert.equal(out, '');
  return [code, err];
};

test('a command without --project uses the only project, then SVC_PROJECT', async () => {
  assert.deepEqual(await failing(['user', 'list']), [
    2,
    'error: The flag --project is required. There is no project yet.\nnext: svc project create NAME\n',
  ]);
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['team', 'create', 'Drivers', '--id', 'drivers']);
  const missing = await place.svc(['team', 'show', 'none']);
  assert.match(missing.err, /next: svc team list --project shop\n$/);
  await place.json(['project', 'create', 'Blog', '--id', 'blog']);
  assert.deepEqual(await failing(['team', 'list']), [
    2,
    'error: The flag --project is required: this installation has 2 projects.\n' +
      'next: add -p ID, or choose a default with svc config set SVC_PROJECT shop; svc project list shows them\n',
  ]);
  const idsIn = async (args: string[], env = {}) => {
    const { code, out, err } = await place.svc(['team', 'list', '--json', ...args], { env });
    assert.equal(code, 0, err);
    return JSON.parse(out).teams.map(({ $id }: { $id: string }) => $id);
  };
  assert.deepEqual(await idsIn(['-p', 'shop']), ['drivers']);
  assert.deepEqual(await idsIn([], { SVC_PROJECT: 'shop' }), ['drivers']);
  assert.deepEqual(await idsIn(['-p', 'blog'], { SVC_PROJECT: 'shop' }), []);
  const gone = await place.svc(['team', 'list'], { env: { SVC_PROJECT: 'gone' } });
  assert.deepEqual([gone.code, gone.err], [3, 'error: There is no such project.\nnext: svc project list\n']);
});

test('a command for which --project is optional covers all projects, also with SVC_PROJECT', async () => {
  const { code, out } = await place.svc(['keys', 'status', '--json'], { env: { SVC_PROJECT: 'shop' } });
  assert.equal(code, 0);
  assert.equal(JSON.parse(out).projects.length, 2);
});

test('completion offers ids of the default project', async () => {
  // It gives up after 300 ms, which a busy machine can take.
  const ids = async () => (await place.svc(['ids', 'team'], { env: { SVC_PROJECT: 'shop' } })).out;
  await holds(async () => (await ids()) === 'drivers\n', 60_000);
});

test('a surplus argument is named, with the text in quotes', async () => {
  const one = (word: string, fix: string) => [2, `error: '${word}' is one argument too many.\nnext: ${fix}\n`];
  const create = ['user', 'create', '-p', 'shop', '--email', 'ada@example.com', '--name', 'Ada', 'of', 'Milan'];
  const quoted = `put the text in quotes: --name 'Ada of Milan'`;
  assert.deepEqual(await failing(create), one('of', quoted));
  assert.deepEqual(await failing([...create, '--password-stdin']), one('of', quoted));
  assert.deepEqual(
    await failing(['project', 'create', 'My', 'Shop']),
    one('Shop', `put a text of several words in quotes: 'My Shop'`),
  );
  assert.deepEqual(await failing(['project', 'list', 'all']), one('all', 'put a text of several words in quotes'));
});

test('verbs and plurals of other programs work', async () => {
  const same = async (args: string[], other: string[]) =>
    assert.deepEqual(await place.json(args), await place.json(other), args.join(' '));
  await same(['users', 'ls', '-p', 'shop'], ['user', 'list', '-p', 'shop']);
  await same(['team', 'get', 'drivers', '-p', 'shop'], ['team', 'show', 'drivers', '-p', 'shop']);
  await same(['projects', 'ls'], ['project', 'list']);
  const made = await place.json<{ $id: string }>(['team', 'new', 'Pilots', '--id', 'pilots', '-p', 'shop']);
  assert.equal(made.$id, 'pilots');
  const removed = await place.svc(['team', 'rm', 'pilots', '-p', 'shop', '--yes']);
  assert.equal(removed.code, 0, removed.err);
  assert.equal((await place.svc(['users'])).code, 0);
});

test('other words of other programs are answered with what to run instead', async () => {
  const words =
    'rm delete rotate-master console login logout upgrade start stop up down ps deploy superuser admin ui top restart whoami env'.split(
      ' ',
    );
  const phrases = [
    'gen types',
    'config get',
    'project use',
    'migrate create',
    'backup rm',
    'backups prune',
    'backup delete',
  ];
  for (const line of [...words, ...phrases]) {
    const [code, err] = await failing(line.split(' '));
    assert.equal(code, 2, line);
    assert.match(String(err), /^error: unknown command '[a-z-]+'\nnext: .*[a-z].*\n$/, line);
    assert.doesNotMatch(String(err), /did you mean|next: svc (\w+ )?--help$/m, line);
    if (line === 'rm') assert.doesNotMatch(String(err), /next: svc/, 'no command that deletes something can be copied');
    if (line.startsWith('backup')) assert.match(String(err), /SVC_BACKUP_KEEP/);
  }
});
