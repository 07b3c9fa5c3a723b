// What is asked at a terminal, and what the answers do.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { atTerminal } from '../harness/pty.js';
import { freePort } from '../harness/terminal.js';

let place: Installation;
before(async () => {
  place = await install({ init: false });
});
after(() => place.dispose());

test('init asks for what neither flags nor the environment say, and checks the answers', async () => {
  const { SVC_PORT: _, ...env } = place.env;
  const asked = await atTerminal(
    { ...place, env },
    ['init', '--base-url', 'https://api.example.com/v1'],
    [
      ...(env.SVC_DATABASE_URL === undefined ? [['Database', '\r'] as const] : []),
      ['Port to listen on', 'abc\r'],
      ['must be a whole number', '\u007f\u007f\u007f8123\r'],
      ['who gets the secrets', 'everybody\r'],
      ['must be one of', `${'\u007f'.repeat('everybody'.length)}any\r`],
      ['Name of a first project', 'My app\r'],
    ],
  );
  assert.equal(asked.code, 0, asked.out);
  assert.match(asked.out, /project +my-app \(My app\)/);
  const written = readFileSync(`${place.dir}/svc.env`, 'utf8');
  assert.match(written, /^SVC_PORT=8123$/m);
  assert.match(written, /^SVC_TOKENS_IN_RESPONSE=any$/m);
  assert.match(written, /^SVC_BASE_URL=https:\/\/api\.example\.com\/v1$/m);
});

test('a password is asked for without echo', async () => {
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const args = ['user', 'create', '--project', 'shop', '--email', 'ada@example.com'];
  const { code, out } = await atTerminal(place, args, [['Password', 'correct horse battery\r']]);
  assert.equal(code, 0, out);
  assert.doesNotMatch(out, /horse/);
});

test('a moderate question takes y, a severe one the name', async () => {
  const remove = ['user', 'delete', 'ada@example.com', '--project', 'shop'];
  assert.equal((await atTerminal(place, remove, [['(y/N)', 'n\r']])).code, 4);
  assert.equal((await atTerminal(place, remove, [['(y/N)', '\u0003']])).code, 130);
  assert.equal((await atTerminal(place, remove, [['(y/N)', 'y\r']])).code, 0);
  assert.equal((await atTerminal(place, [...remove, '--no-input'], [])).code, 3);
  const severe = ['project', 'delete', 'shop', '--yes'];
  assert.equal((await atTerminal(place, severe, [['Type shop to confirm', 'y\r']])).code, 4);
  assert.equal((await atTerminal(place, [...severe, '--no-input'], [])).code, 4);
  assert.equal((await atTerminal(place, severe, [['Type shop to confirm', 'shop\r']])).code, 0);
});

/**
 * The questions of `svc init` in their order, short enough for one line of a narrow terminal, with an answer to each. Each run has a port of
 * its own: for a moment, a port that one looks at is taken for another.
 */
const questionsOf = (port: number): readonly (readonly [question: string, answer: string])[] => [
  ['Directory of all data', '\r'],
  ['Database', 'postgres://svc@127.0.0.1:1/svc\r'],
  ['Password of the database', 'geheim\r'],
  ['Port to listen on', `${port}\r`],
  ['Public address', '\r'],
  ['Name of a first', 'My app\r'],
];

test('Ctrl-C and Ctrl-D at each question of init end it, at every width, with nothing written', async () => {
  const empty = await install({ init: false });
  after(() => empty.dispose());
  const { SVC_PORT: _, SVC_DATA_DIR: __, SVC_DATABASE_URL: ___, ...env } = empty.env;
  const dialogues = await Promise.all([0, 1].map(async () => questionsOf(await freePort())));
  const [questions = []] = dialogues;
  for (const [at, [question]] of questions.entries()) {
    const ends = [
      ['\u0003', [50, 80, 120][at % 3]],
      ['\u0004', [120, 50, 80][at % 3]],
    ] as const;
    await Promise.all(
      ends.map(async ([key, columns], which) => {
        const dialogue = [...(dialogues[which] ?? []).slice(0, at), [question, key] as const];
        const { code, out } = await atTerminal({ ...empty, env }, ['init'], dialogue, columns);
        assert.equal(code, 130, `${question} ${JSON.stringify(key)} ${columns}: ${out}`);
        assert.match(out.replace(/\s+/g, ' '), /Interrupted; nothing was changed\./);
        assert.doesNotMatch(out, /geheim/);
      }),
    );
    assert.deepEqual(readdirSync(empty.dir), ['bin']);
  }
  // Nobody listens on that port: all of it is asked, then it fails, and nothing was written.
  const { code, out } = await atTerminal({ ...empty, env }, ['init'], questions, 80);
  assert.equal(code, 6, out);
  assert.doesNotMatch(out, /geheim/);
  assert.deepEqual(readdirSync(empty.dir), ['bin']);
});

test('Ctrl-D at the other kinds of questions ends them too', async () => {
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.svc(['user', 'create', '--project', 'shop', '--email', 'b@example.com', '--password-stdin'], {
    input: 'correct horse battery',
  });
  const table = [
    [['user', 'delete', 'b@example.com', '--project', 'shop'], '(y/N)', 50],
    [['project', 'delete', 'shop'], 'Type shop', 80],
    [['user', 'create', '--project', 'shop', '--email', 'c@example.com'], 'Password', 120],
  ] as const;
  for (const [args, question, columns] of table) {
    const { code, out } = await atTerminal(place, args, [[question, '\u0004']], columns);
    assert.equal(code, 130, `${args.join(' ')}: ${out}`);
  }
  assert.equal((await place.json<{ total: number }>(['user', 'list', '--project', 'shop'])).total, 1);
});
