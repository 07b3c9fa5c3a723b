// Ctrl-C and Ctrl-D at every question but those of `svc init` (questions.test.ts), in terminals of three widths,
// side by side.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { root } from '../harness/checkout.js';
import { type Installation, install } from '../harness/cli.js';
import { commandsAtTerminal, flat, widths } from '../harness/pty.js';
import { after } from '../harness/runner.js';

const inShop = ['--project', 'shop'];
const inBlog = [...inShop, '--database', 'blog'];
let place: Installation;
let kid = '';

before(async () => {
  place = await install();
  writeFileSync(join(place.dir, 'secret'), 'tall-green-bicycle');
  writeFileSync(join(place.dir, 'shop.yaml'), 'project: {$id: shop}\n');
  const secret = ['--secret-file', 'secret'];
  const made: readonly (readonly string[])[] = [
    ['project', 'create', 'Shop', '--id', 'shop'],
    ['database', 'create', 'Blog', '--id', 'blog', ...inShop],
    ['collection', 'create', 'Posts', '--id', 'posts', ...inBlog],
    ['collection', 'add-attribute', 'posts', 'title', '--type', 'boolean', ...inBlog],
    ['bucket', 'create', 'Drafts', '--id', 'drafts', ...inShop],
    ['team', 'create', 'Drivers', '--id', 'drivers', ...inShop],
    [
      'webhook',
      'add',
      '--name',
      'Orders',
      '--id',
      'orders',
      '--url',
      'https://example.com/',
      '--events',
      '*',
      ...inShop,
    ],
    ['apikey', 'create', '--name', 'ci', '--scopes', 'users.read', ...inShop],
    ['user', 'create', '--id', 'bob', '--email', 'bob@example.com', ...secret, ...inShop],
    ['provider', 'add', 'oauth2', '--key', 'google', '--client-id', 'id', ...secret, ...inShop],
    ['keys', 'rotate', ...inShop],
    ['backup', 'create', 'svc.tar'],
  ];
  const commands = made.map((args) => ({ args }));
  for (const { code, screen } of await commandsAtTerminal(place, commands, 80)) assert.equal(code, 0, screen);
  kid = (await place.json<{ keys: { kid: string }[] }>(['keys', 'status', ...inShop])).keys[0]?.kid ?? '';
});
after(() => place.dispose());

/** Every command that asks, with the end of its question, which breaks between words only. */
const questions = (): readonly (readonly [args: readonly string[], question: string])[] => [
  [['project', 'delete', 'shop'], 'for good. Type shop to confirm:'],
  [['project', 'apply', '-f', 'shop.yaml', '--prune'], 'with everything in them, for good. Type shop to confirm:'],
  [
    ['user', 'erase', 'bob@example.com', ...inShop],
    'with everything stored about the person, for good. Type bob@example.com to confirm:',
  ],
  [['files', 'move'], 'since the settings were switched to the new store? (y/N)'],
  [['bucket', 'delete', 'drafts', ...inShop], 'with all its files. It cannot be undone. Type drafts to confirm:'],
  [['database', 'delete', 'blog', ...inShop], 'with all its documents. It cannot be undone. Type blog to confirm:'],
  [['collection', 'delete', 'posts', ...inBlog], 'with all its documents. It cannot be undone. Type posts to confirm:'],
  [
    ['collection', 'remove-attribute', 'posts', 'title', ...inBlog],
    'Remove the attribute title of posts with its values? (y/N)',
  ],
  [
    ['migrate', 'down'],
    `permanently deletes the data it holds. Is the server stopped? Type ${place.database} to confirm:`,
  ],
  [['backup', 'restore', 'svc.tar'], `in the database ${place.database}. Type ${place.database} to confirm:`],
  [
    ['keys', 'rotate-master'],
    `Backups made before need the old key: keep a copy of it. Type ${place.database} to confirm:`,
  ],
  [['keys', 'revoke', kid], 'and with it every JWT that it has signed? (y/N)'],
  [['provider', 'remove', 'google', ...inShop], 'No user signs in with it. Remove provider google? (y/N)'],
  [['webhook', 'remove', 'orders', ...inShop], 'Remove the webhook Orders (orders) with its deliveries? (y/N)'],
  [['team', 'delete', 'drivers', ...inShop], 'Delete the team drivers (Drivers)? (y/N)'],
  [['apikey', 'revoke', 'ci', ...inShop], 'of shop? (y/N)'],
  [['user', 'delete', 'bob@example.com', ...inShop], 'Delete the user bob (bob@example.com) of shop? (y/N)'],
  [['user', 'reset-mfa', 'bob@example.com', ...inShop], 'the second factor of bob (bob@example.com) of shop? (y/N)'],
  [['user', 'create', ...inShop, '--email', 'c@example.com'], 'Password'],
];

test('every place that asks stands in the table, or is one of init', () => {
  const folder = join(root, 'src/cli');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const places = files.flatMap((name) =>
    [
      ...readFileSync(join(folder, name), 'utf8').matchAll(
        /\bprompts\s*\.(ask|askSecret|askNewSecret|confirm|confirmByName)\(/g,
      ),
    ].map(() => name),
  );
  const ofInit = ['installation/first-settings.ts', 'commands/init.ts'];
  assert.equal(places.filter((name) => !ofInit.includes(name)).length, questions().length, places.join(' '));
});

test('Ctrl-C and Ctrl-D end every question with exit 130 and change nothing, at every width', async () => {
  const runs = questions().flatMap(([args, question]) =>
    ['\u0003', '\u0004'].map((key) => ({
      args,
      question,
      dialogue: [[question.split(' ').at(-1) ?? '', key] as const],
    })),
  );
  const before = await changes();
  const env = {
    ...place.env,
    SVC_FILES_FROM: `file:${join(place.dir, 'data/files')}`,
    SVC_FILES_URL: `file:${join(place.dir, 'moved')}`,
  };
  await Promise.all(
    widths.map(async (columns) => {
      const ended = await commandsAtTerminal({ dir: place.dir, env }, runs, columns);
      for (const [at, { args, question, dialogue }] of runs.entries()) {
        const { code, screen = '' } = ended[at] ?? {};
        const told = `${args.join(' ')} ${JSON.stringify(dialogue)} at ${columns}: ${screen}`;
        assert.equal(code, 130, told);
        assert.ok(flat(screen).includes(question), `${question} ${told}`);
        assert.match(flat(screen), /Interrupted; nothing was changed\./, told);
      }
    }),
  );
  assert.deepEqual(await changes(), before);
});

/** What would show a change: every privileged one has an entry. */
const changes = () => place.sql('SELECT count(*) AS entries FROM audit_entries');
