// What a terminal shows: tables and help that fit, times that are relative, next steps that can be pasted, completion of values.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { count } from '#src/cli/terminal/count.js';
import { relativeTime } from '#src/cli/terminal/relative-time.js';
import { cutToWidth, widthOf } from '#src/cli/terminal/text-width.js';
import { type Installation, install } from '../harness/cli.js';
import { atTerminal, commandsAtTerminal, flat, widths } from '../harness/pty.js';
import { after } from '../harness/runner.js';

let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json([
    'project',
    'create',
    'Ein Projekt mit einem langen Namen, 日本語の名前 und mehr',
    '--id',
    'a'.repeat(36),
  ]);
  const user = ['user', 'create', '--project', 'shop', '--password-stdin', '--name', '名前'.repeat(30)];
  await place.json(
    [...user, '--email', `${'very-long-address-'.repeat(3)}@example.com`, '--id', 'ada'],
    'tall-green-bicycle',
  );
  await place.json([
    'apikey',
    'create',
    '--project',
    'shop',
    '--name',
    'all',
    '--scopes',
    'users.read,users.write,teams.read',
  ]);
  const hook = ['webhook', 'add', '--project', 'shop', '--name', 'Orders', '--events', '*', '--id', 'orders'];
  await place.json([...hook, '--url', `https://hooks.example.com/${'path/'.repeat(20)}`]);
  await place.svc(['webhook', 'test', 'orders', '--project', 'shop']);
  await place.json(['database', 'create', 'Main', '--project', 'shop', '--id', 'main']);
  await place.json(['collection', 'create', 'Orders', '--project', 'shop', '--database', 'main', '--id', 'orders']);
});
after(() => place.dispose());

const tables: readonly (readonly string[])[] = [
  ['user', 'list', '--project', 'shop'],
  ['audit', 'list'],
  ['webhook', 'list', '--project', 'shop'],
  ['webhook', 'deliveries', 'orders', '--project', 'shop'],
  ['project', 'list'],
  ['project', 'settings'],
  ['apikey', 'list', '--project', 'shop'],
  ['cron', 'list'],
  ['limits', 'show', '--project', 'shop'],
  ['config', 'show', '--origin'],
  ['commands'],
];

/** Their last column has sentences, which go on below themselves. */
const sentences = ['limits show', 'project settings', 'commands', 'webhook deliveries'];

test('tables fit every width, with a line or a block of lines for each row and ids that are not cut, and are whole in a pipe', async () => {
  const piped: string[][] = [];
  for (const args of tables) {
    const lines = (await place.svc(args)).out.trimEnd().split('\n');
    assert.ok(lines.length > 1, args.join(' '));
    assert.doesNotMatch(lines.join('\n'), /\d (s|min|h|d) ago|…/, args.join(' '));
    piped.push(lines);
  }
  const shown = tables.map((args) => ({ args: [...args, '--quiet'] }));
  await Promise.all(
    widths.map(async (columns) => {
      for (const [at, { code, screen }] of (await commandsAtTerminal(place, shown, columns)).entries()) {
        const told = `${tables[at]?.join(' ')} at ${columns}: ${screen}`;
        const lines = screen.split(/\r?\n/).filter((line) => line !== '(none)');
        assert.equal(code, 0, told);
        for (const line of lines) assert.ok(widthOf(line) <= columns, `${told}: ${line}`);
        const rows = piped[at] ?? [];
        if (columns >= 80 && !sentences.includes((tables[at] ?? []).slice(0, 2).join(' ')))
          assert.equal(lines.length, rows.length, told);
        const starts = rows.slice(1).map((row) => row.split('  ')[0] ?? '');
        // Times are relative in a terminal.
        for (const start of starts.filter((text) => !/^\d{4}-/.test(text)))
          assert.ok(
            lines.some((line) => line.includes(start.slice(0, 4))),
            told,
          );
        for (const id of idsOf(rows)) assert.ok(screen.includes(id), `${told}: ${id}`);
      }
    }),
  );
});

/** What stands below the headings that end with ID, in a table that is whole. */
function idsOf([heading = '', ...rows]: readonly string[]): string[] {
  const starts = [...heading.matchAll(/(?:[A-Z-]+ )?\bID\b/g)].map(({ index }) => index);
  return starts.flatMap((start) => rows.map((row) => row.slice(start).split('  ')[0] ?? ''));
}

test('in a narrow terminal the jobs and the limits can be read', async () => {
  const shown = ['cron list', 'limits show'].map((line) => ({ args: line.split(' ') }));
  const [jobs, limits] = await commandsAtTerminal(place, shown, 50);
  assert.doesNotMatch(`${jobs?.screen}${limits?.screen}`, /…/);
  assert.match(
    jobs?.screen ?? '',
    /^JOB +sessions\.expire\r?\n {2}SCHEDULE \(UTC\) {2}\S[^\n]*\n {2}NEXT RUN +(in \d+ \w+|now)\r?\n/m,
  );
  assert.match(
    flat(limits?.screen ?? ''),
    /CLASS login PER account LIMIT \d+\/\d+s COUNTS Failed logins, wrong current passwords/,
  );
});

test('at 80 columns, ids stay whole; columns that do not fit are left out or moved below', async () => {
  await place.json(['webhook', 'update', 'orders', '--project', 'shop', '--enabled', 'off']);
  const shown = [
    ['cron', 'list'],
    ['audit', 'list'],
  ];
  for (const columns of [80, 120]) {
    const screens = await commandsAtTerminal(
      place,
      shown.map((args) => ({ args })),
      columns,
    );
    for (const [at, name] of [
      [0, 'JOB'],
      [1, 'ACTION'],
    ] as const) {
      const [heading = '', ...rows] = (await place.svc(shown[at] ?? [])).out.trimEnd().split('\n');
      const from = heading.indexOf(name);
      const screen = screens[at]?.screen ?? '';
      assert.match(screen, new RegExp(`^(\\S+ +)*${name}\\b`), 'it is a table');
      for (const row of rows) {
        const [copied = ''] = row.slice(from).split('  ');
        assert.ok(
          new RegExp(`(^|\\s)${copied.replaceAll('.', '\\.')}(\\s|$)`, 'm').test(screen),
          `${copied} in ${screen}`,
        );
      }
    }
    // A cut id of a request is of no use.
    const requests = screens[1]?.screen ?? '';
    assert.equal(/ REQUEST\r?\n/.test(requests), columns === 120, requests);
    if (columns === 120) assert.match(requests, / [0-9a-f]{20}\r?\n/);
  }
});

test('times are relative in a terminal, and ISO 8601 elsewhere', async () => {
  const list = ['project', 'list'];
  assert.match((await atTerminal(place, list, [], 80)).out, /^shop +Shop.* (now|\d+ (s|min) ago)/m);
  assert.match((await place.svc(list)).out, /^shop +Shop.*T[\d:.]+Z$/m);
  assert.match((await place.svc([...list, '--json'])).out, /"\$createdAt": "[^"]+(Z|\+00:00)"/);
  const table: readonly (readonly [number, string])[] = [
    [0, 'now'],
    [59_000, '59 s ago'],
    [60_000, '1 min ago'],
    [3_599_000, '59 min ago'],
    [7_300_000, '2 h ago'],
    [172_800_000, '2 d ago'],
    [-7_300_000, 'in 2 h'],
    [40 * 86_400_000, '2026-10-14'],
  ];
  const now = Date.parse('2026-11-23T10:00:00Z');
  for (const [age, said] of table) assert.equal(relativeTime(now - age, now), said);
});

test('a count of one is in the singular', () => {
  assert.deepEqual(
    [0, 1, 2].map((number) => count(number, 'object')),
    ['0 objects', '1 object', '2 objects'],
  );
  assert.equal(count(1, 'identity', 'identities'), '1 identity');
});

test('a cell is cut between letters, by the columns that they take', () => {
  for (const [text, width, cut] of [
    ['plain', 5, 'plain'],
    ['plainly', 5, 'plai…'],
    ['日本語', 6, '日本語'],
    ['日本語', 5, '日本…'],
    ['e\u0301e\u0301e\u0301', 2, 'e\u0301…'],
    ['👩‍👩‍👧x', 3, '👩‍👩‍👧x'],
  ] as const) {
    assert.equal(cutToWidth(text, width), cut);
    assert.ok(widthOf(cut) <= width);
  }
});

test('help fits, but for examples, which are there to be copied', async () => {
  const commands = [[], ['webhook', 'add', '--help']].map((args) => ({ args }));
  for (const columns of widths)
    for (const { code, screen } of await commandsAtTerminal(place, commands, columns)) {
      assert.equal(code, 0, screen);
      assert.ok(screen.includes('Examples:'), screen);
      const [help = ''] = screen.split('Examples:');
      // A word that is longer than the room for it is not cut.
      for (const line of help.split(/\r?\n/))
        assert.ok(widthOf(line) <= columns || !/\S\s+\S/.test(line), `${columns}: ${line}`);
    }
});

test('creating a project prints a few lines, and the next step can be pasted', async () => {
  const created = await place.svc(['project', 'create', 'My app']);
  assert.equal(created.out.trimEnd().split('\n').length, 4, created.out);
  const next = /^next: (svc apikey create .*)$/m.exec(created.err)?.[1] ?? '';
  assert.equal((await place.shell(next)).code, 0, next);
  const changed = await place.svc(['project', 'update', 'my-app', '--set', 'session.days=7']);
  assert.match(changed.out, /^session\.days +7$/m);
  assert.doesNotMatch(changed.out, /session\.limit/);
  assert.ok((await place.svc(['project', 'show', 'my-app'])).out.includes('session.limit'));
});

test('the next step of an error repeats the arguments of the command', async () => {
  for (const [args, next] of [
    [['user', 'show', 'nobody', '--project', 'shop'], 'svc user list --project shop'],
    [['webhook', 'show', 'none', '--project', 'shop'], 'svc webhook list --project shop'],
    [['project', 'create', 'Shop', '--id', 'shop'], 'choose another --id, or look at it with svc project show shop'],
    [
      ['collection', 'show', 'none', '--project', 'shop', '--database', 'main'],
      'svc collection list --project shop --database main',
    ],
    [
      ['collection', 'remove-attribute', 'orders', 'none', '--project', 'shop', '--database', 'main', '--yes'],
      'svc collection show orders --project shop --database main',
    ],
    [['webhook', 'show', 'none', '--project', "no'ne"], 'svc project list'],
  ] as const) {
    const { err } = await place.svc(args);
    assert.equal(/^next: (.*)$/m.exec(err)?.[1], next, err);
  }
});

test('the next step selects the installation as the command line did', async () => {
  copyFileSync(join(place.dir, 'svc.env'), join(place.dir, "it's mine.env"));
  const named = `svc --config 'it'\\''s mine.env'`;
  for (const [args, next] of [
    [['user', 'show', 'nobody', '--project', 'shop'], `${named} user list --project shop`],
    [['project', 'show', 'none'], `${named} project list`],
    [
      ['project', 'create', 'Shop', '--id', 'shop'],
      `choose another --id, or look at it with ${named} project show shop`,
    ],
    [['user', 'list', '--project', 'shop', '--limit', '0'], 'svc user list --help shows its arguments and flags'],
    [
      ['database', 'create', 'More', '--project', 'shop', '--id', 'more'],
      `${named} collection create NAME --project shop --database more`,
    ],
  ] as const) {
    for (const words of [
      ["--config=it's mine.env", ...args],
      [...args, '--config', "it's mine.env"],
    ]) {
      const { code, err } = await place.svc(words);
      if (code === 0) await place.svc(['database', 'delete', 'more', '--project', 'shop', '--confirm', 'more']);
      assert.equal(/^next: (.*)$/m.exec(err)?.[1], next, err);
    }
    const { err } = await place.svc(['--json', '--config', "it's mine.env", ...args]);
    if (err !== '') assert.equal(JSON.parse(err).error.fix, next);
    else await place.svc(['database', 'delete', 'more', '--project', 'shop', '--confirm', 'more']);
  }
  const pasted = await place.shell(`${named} user list --project shop`);
  assert.equal(pasted.code, 0, pasted.err);
});

test('events that are followed have times as tables do, and Ctrl-C ends them with 130', async () => {
  const follow = (args: readonly string[]) => ['events', 'tail', '--project', 'shop', '--limit', '1', ...args];
  // A server numbers the events.
  const server = await place.serve();
  await place.json(['user', 'update', 'ada', '--project', 'shop', '--labels', 'vip']);
  const child = spawn('svc', follow(['--type', 'accountUpdated']), { cwd: place.dir, env: place.env });
  after(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  assert.match(line, /^\d+ {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}accountUpdated/);
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'exit'), [130, null]);
  const atScreen = await atTerminal(place, follow([]), [['accountUpdated', '\x03']], 120);
  assert.equal(atScreen.code, 130);
  assert.match(atScreen.out, /^\d+ {2}(now|\d+ s ago) {2}accountUpdated/m);
  server.signal('SIGTERM');
  await server.ended;
});

test('an empty master key leads to the copy of the file, and never back to init', async () => {
  const empty = await install();
  after(() => empty.dispose());
  const { dir, svc } = empty;
  const file = join(dir, 'svc.env');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^SVC_MASTER_KEY=.*$/m, 'SVC_MASTER_KEY='));
  for (const args of [['project', 'list'], ['serve'], ['init', '--yes'], ['config', 'check']]) {
    const { code, err } = await svc(args, { env: { SVC_MASTER_KEY: '' } });
    assert.equal(code, 7, err);
    assert.match(err, /SVC_MASTER_KEY is set neither in \S+svc\.env nor in the environment/);
    assert.doesNotMatch(err, /svc init/);
  }
});

const shells = [
  [
    'bash',
    (words: string[]) =>
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  [
    'zsh',
    (words: string[]) =>
      `compadd() { shift; printf '%s\\n' "$@" }; _files() { echo FILES }; words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _svc`,
  ],
  ['fish', (words: string[]) => `complete -C'${words.join(' ')}'`],
] as const;

for (const [shell, complete] of shells)
  test(`${shell} completes commands, flags and ids`, async (t) => {
    if (spawnSync(shell, ['--version']).status !== 0) return t.skip(`${shell} is not on this machine`);
    const script = (await place.svc(['completion', shell])).out;
    writeFileSync(join(place.dir, 'completion'), shell === 'zsh' ? `compdef() { : }\n${script}` : script);
    const offered = async (...words: string[]) => {
      writeFileSync(
        join(place.dir, 'typed'),
        `source ${join(place.dir, 'completion')}\n${complete(['svc', ...words])}\n`,
      );
      const { out } = await place.shell(`${shell} typed`);
      return out.split('\n').map((line) => line.split('\t')[0] ?? '');
    };
    for (const [words, expected] of [
      [['mig'], 'migrate'],
      [['webhook', ''], 'rotate-secret'],
      [['project', 'show', ''], 'shop'],
      [['project', 'list', '--'], '--json'],
      [['user', 'list', '--project', ''], 'shop'],
      [['user', 'show', '--project', 'shop', ''], 'ada'],
      [['webhook', 'show', '--project', 'shop', ''], 'orders'],
      [['collection', 'show', '--project', 'shop', '--database', 'main', ''], 'orders'],
      [['cron', 'run', ''], 'sessions.expire'],
    ] as const) {
      let seen: string[] = [];
      // On a busy machine the database may take longer than a person waits.
      for (let tries = 0; tries < 5 && !seen.includes(expected); tries++) seen = await offered(...words);
      assert.ok(seen.includes(expected), `${words.join(' ')}: ${seen}`);
    }
    assert.ok(!(await offered('user', 'show', '--project', 'none', '')).includes('ada'));
  });

test('ids prints the ids of the lists, names missing arguments, and prints nothing else', async () => {
  await place.svc(['platform', 'add', '--project', 'shop', '--hostname', 'shop.example.com']);
  for (const noun of [
    'project',
    'platform',
    'apikey',
    'provider',
    'user',
    'team',
    'database',
    'bucket',
    'webhook',
    'cron',
    'collection',
  ]) {
    const where = [
      ...(['project', 'cron'].includes(noun) ? [] : ['--project', 'shop']),
      ...(noun === 'collection' ? ['--database', 'main'] : []),
    ];
    const lists = await place.json<Record<string, unknown>>([noun, 'list', ...where]);
    const rows = (Object.values(lists).find(Array.isArray) ?? []) as Record<string, string>[];
    const expected = rows.map(({ $id, key, name }) => $id ?? key ?? name).sort();
    let ids: string[] | undefined;
    // On a busy machine the database may take longer than a person waits.
    for (let tries = 0; tries < 5 && ids === undefined; tries++) {
      const { out } = await place.svc(['ids', noun, ...where, '--json']);
      if (out !== '') ids = JSON.parse(out).ids;
    }
    assert.deepEqual(ids?.sort(), expected, noun);
  }
  for (const args of [['user'], ['nothing'], ['collection', '--project', 'shop']]) {
    const { code, out } = await place.svc(['ids', ...args]);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
  }
});
