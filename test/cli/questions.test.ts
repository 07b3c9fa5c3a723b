// What is asked at a terminal, and what the answers do: each question in terminals of three widths, side by side.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { atTerminal, commandsAtTerminal, flat, widths } from '../harness/pty.js';
import { after } from '../harness/runner.js';

const places: Installation[] = [];
after(() => Promise.all(places.map((place) => place.dispose())));
const fresh = async (init: boolean) => {
  const place = await install({ init });
  places.push(place);
  return place;
};

const erase = (text: string) => '\u007f'.repeat(text.length);

test('init asks for what neither flags nor the environment say, and checks the answers', async () => {
  const ports = await Promise.all(widths.map(() => freePort()));
  await Promise.all(
    widths.map(async (columns, at) => {
      const place = await fresh(false);
      const { SVC_PORT: _, ...env } = place.env;
      const asked = await atTerminal(
        { ...place, env },
        ['init', '--base-url', 'https://api.example.com/v1'],
        [
          ...(env.SVC_DATABASE_URL === undefined ? [['Database', '\r'] as const] : []),
          ['Port to listen on', 'abc\r'],
          ['must be a whole', `${erase('abc')}${ports[at]}\r`],
          ['never', 'everybody\r'],
          ['must be one of', `${erase('everybody')}any\r`],
          ['Name of a first', 'My app\r'],
        ],
        columns,
      );
      assert.equal(asked.code, 0, `${columns}: ${asked.out}`);
      assert.match(asked.out, /project +my-app \(My app\)/);
      const written = readFileSync(join(place.dir, 'svc.env'), 'utf8');
      assert.ok(written.includes(`\nSVC_PORT=${ports[at]}\n`), written);
      assert.match(written, /^SVC_TOKENS_IN_RESPONSE=any$/m);
      assert.match(written, /^SVC_BASE_URL=https:\/\/api\.example\.com\/v1$/m);
    }),
  );
});

test('a password is not shown, a moderate question takes y, a severe one the name', async () => {
  const place = await fresh(true);
  await Promise.all(
    widths.map(async (columns) => {
      const project = `shop-${columns}`;
      const create = ['user', 'create', '--project', project, '--email', 'ada@example.com'];
      const remove = ['user', 'delete', 'ada@example.com', '--project', project];
      const severe = ['project', 'delete', project, '--yes'];
      const table = [
        [['project', 'create', project, '--id', project], [], 0],
        [
          create,
          [
            ['Password', 'correct horse battery\r'],
            ['once more', 'correct horse battery\r'],
          ],
          0,
        ],
        [
          ['user', 'update', 'ada@example.com', '--project', project, '--password-stdin'],
          [
            ['Password', 'a quiet river stone\r'],
            ['once more', 'a quiet river stone\r'],
          ],
          0,
        ],
        [remove, [['(y/N)', 'n\r']], 4],
        [remove, [['(y/N)', '\r']], 4],
        [remove, [['(y/N)', 'y\r']], 0],
        [[...remove, '--no-input'], [], 3],
        [severe, [['confirm:', 'y\r']], 4],
        [[...severe, '--no-input'], [], 4],
        [severe, [['confirm:', `${project}\r`]], 0],
      ] as const;
      const commands = table.map(([args, dialogue]) => ({ args, dialogue }));
      const ended = await commandsAtTerminal(place, commands, columns);
      for (const [at, [args, , code]] of table.entries())
        assert.equal(ended[at]?.code, code, `${args.join(' ')} at ${columns}: ${ended[at]?.screen}`);
      assert.doesNotMatch(ended[1]?.screen ?? '', /horse/);
    }),
  );
});

/** The questions of `svc init` in their order, each by words that stand in one line of a narrow terminal, with an answer to each. */
const questionsOf = (port: number): readonly (readonly [question: string, answer: string])[] => [
  ['Directory of all data', '\r'],
  ['Database', 'postgres://svc@127.0.0.1:1/svc\r'],
  ['Password of the database', 'geheim\r'],
  // The server refuses, so the database is asked for again.
  ['ECONNREFUSED', 'sqlite:own.db\r'],
  ['Port to listen on', `${port}\r`],
  ['Public address', 'https://api.example.com/v1\r'],
  ['never', 'any\r'],
  ['Name of a first', 'My app\r'],
];

test('Ctrl-C and Ctrl-D at each question of init end it, at every width, with nothing written', async () => {
  const place = await fresh(false);
  const { SVC_PORT: _, SVC_DATA_DIR: __, SVC_DATABASE_URL: ___, ...env } = place.env;
  // Each terminal has a port of its own: for a moment, a port that one looks at is taken for another.
  const ports = await Promise.all(widths.map(() => freePort()));
  await Promise.all(
    widths.map(async (columns, which) => {
      const dir = join(place.dir, String(columns));
      mkdirSync(dir);
      const questions = questionsOf(ports[which] ?? 0);
      const endings = questions.flatMap(([question], at) =>
        ['\u0003', '\u0004'].map((key) => ({
          args: ['init'],
          dialogue: [...questions.slice(0, at), [question, key] as const],
        })),
      );
      const ended = await commandsAtTerminal({ dir, env }, endings, columns);
      for (const [at, { dialogue }] of endings.entries()) {
        const { code, screen = '' } = ended[at] ?? {};
        const told = `${JSON.stringify(dialogue.at(-1))} at ${columns}: ${screen}`;
        assert.equal(code, 130, told);
        assert.match(flat(screen), /Interrupted; nothing was changed\./, told);
      }
      for (const { screen } of ended) assert.doesNotMatch(screen, /geheim/);
      assert.deepEqual(readdirSync(dir), []);
    }),
  );
});
