// What somebody meets who uses the command for the first time: errors in its own words, lists that say what they mean, slips that are noticed.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { atTerminal, commandsAtTerminal, flat, widths } from '../harness/pty.js';
import { after } from '../harness/runner.js';

const shop = ['--project', 'shop'];
const blog = [...shop, '--database', 'blog'];
let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'Blog', ...shop, '--id', 'blog']);
  await place.json(['collection', 'create', 'Posts', ...blog, '--id', 'posts']);
  await place.json(['collection', 'add-attribute', 'posts', 'title', ...blog, '--type', 'string', '--size', '40']);
});
after(() => place.dispose());

const attribute = (...more: string[]) => ['collection', 'add-attribute', 'posts', ...more, ...blog];
const help = (path: string) => `svc ${path} --help shows its arguments and flags`;

test('an invalid value is reported with its flag or argument, the value, and the accepted values', async () => {
  const toPosts = ['--type', 'relationship', '--relation', 'manyToOne', '--related'];
  const index = (list: string) => ['collection', 'add-index', 'posts', 'one', ...blog, '--attributes', list];
  const table: readonly (readonly [string[], number, string, string])[] = [
    [attribute('body', '--type', 'string'), 2, '--size is missing.', 'add --size N'],
    [attribute('state', '--type', 'enum'), 2, '--elements is missing.', 'add --elements LIST'],
    [
      attribute('x y', '--type', 'boolean'),
      2,
      'KEY must be 1 to 36 characters of A-Z a-z 0-9 . _ - and start with a letter or digit; it is x y.',
      help('collection add-attribute'),
    ],
    [
      attribute('author', ...toPosts, 'authors'),
      3,
      'There is no collection authors to relate to.',
      'svc collection list --project shop --database blog',
    ],
    [
      index('title:down'),
      2,
      '--attributes has title:down; the order after the colon is asc or desc.',
      'write title:asc or title:desc',
    ],
    [
      ['user', 'list', ...shop, '--limit', 'all'],
      2,
      '--limit must be a whole number from 1 to 5000; it is all.',
      help('user list'),
    ],
    [
      ['webhook', 'listen', '--for', '5'],
      2,
      '--for must be a number with s, m, h or d, such as 24h; it is 5.',
      help('webhook listen'),
    ],
    [
      ['project', 'update', 'shop', '--set', 'signup.hideExisting=perhaps'],
      2,
      'signup.hideExisting must be on or off.',
      help('project update'),
    ],
    [
      ['audit', 'list', '--action', 'loginfailed'],
      2,
      '--action must be an action of the audit log; it is loginfailed.',
      'did you mean loginFailed?',
    ],
    [
      ['audit', 'list', '--action', 'userCreated'],
      2,
      '--action must be an action of the audit log; it is userCreated.',
      'did you mean accountCreated?',
    ],
    [
      ['team', 'list', ...shop, '--limit', '0'],
      2,
      '--limit must be a whole number from 1 to 5000; it is 0.',
      help('team list'),
    ],
    [
      attribute('writer', '--type', 'relationship', '--related', 'posts', '--relation', 'many'),
      2,
      '--relation must be one of oneToOne, oneToMany, manyToOne, manyToMany; it is many.',
      help('collection add-attribute'),
    ],
    [
      ['user', 'update', 'ada', ...shop, '--email-verified', 'perhaps'],
      2,
      '--email-verified must be on or off; it is perhaps.',
      help('user update'),
    ],
    [['completion', 'fis'], 2, 'SHELL must be one of bash, zsh, fish; it is fis.', 'did you mean fish?'],
    [
      ['provider', 'add', 'oidx', ...shop, '--key', 'corp'],
      2,
      'KIND must be one of oauth2, oidc, saml; it is oidx.',
      'did you mean oidc?',
    ],
    [
      ['provider', 'add', 'oauth2', ...shop, '--key', 'google', '--client-id', 'x'],
      2,
      '--secret-file is missing: google gives one to each application.',
      'add --secret-file FILE',
    ],
    [
      ['provider', 'add', 'oidc', ...shop, '--key', 'corp', '--client-id', 'x'],
      2,
      '--issuer is missing: it says which OpenID Connect provider is meant.',
      'add --issuer URL',
    ],
    [
      ['webhook', 'add', ...shop, '--name', 'x', '--url', 'http://u:p@h', '--events', '*'],
      2,
      '--url has a URL with a password. Every user of this machine can read the arguments of a process.',
      'take it out of the URL and give --auth-username NAME and --auth-password-file FILE',
    ],
    [
      ['provider', 'add', 'oidc', ...shop, '--issuer=https://u:p@h'],
      2,
      '--issuer has a URL with a password. Every user of this machine can read the arguments of a process.',
      'take it out of the URL: the application is known by --client-id ID and --secret-file FILE',
    ],
    [
      ['user', 'create', ...shop, '--email', 'x@example.com', '--password-stdin'],
      2,
      '--password-stdin: standard input was empty.',
      'pipe it into the command',
    ],
    [['dump'], 2, "unknown command 'dump'", 'svc backup create'],
    [
      ['upgrade'],
      2,
      "unknown command 'upgrade'",
      'install the new version, then svc migrate: docs/upgrade.md has the commands',
    ],
    [['revoke', 'backend'], 2, "unknown command 'revoke'", 'svc apikey revoke KEY --project ID'],
    [
      ['apikey', 'revoke', 'backend'],
      3,
      'There is no server key with the id backend.',
      'if that is its name, name the project too: svc apikey revoke backend --project ID',
    ],
    [
      ['webhook', 'replay', 'w', ...shop, '--all'],
      2,
      '--all needs the time from which on all deliveries are made again.',
      'add --since TIME, such as 2d',
    ],
    [['help', 'nope'], 2, "unknown command 'nope'", 'svc help'],
    [['help', 'usr'], 2, "unknown command 'usr'", 'did you mean svc help user?'],
    [['help', 'user', 'shw'], 2, "unknown command 'shw'", 'did you mean svc help user show?'],
    [
      ['init', '--port', '0'],
      2,
      '--port must be from 1 to 65535: 0 takes another port at each start, and the address of the API names one.',
      help('init'),
    ],
  ];
  mkdirSync(join(place.dir, 'empty'));
  for (const [args, code, message, next] of table) {
    // There is no installation yet where init is asked for one.
    const given = args[0] === 'init' ? ['--config', 'empty/svc.env', ...args] : args;
    const ended = await place.svc(given);
    assert.deepEqual([ended.code, ended.out, ended.err], [code, '', `error: ${message}\nnext: ${next}\n`]);
  }
});

test('a value from stdin or a file is not repeated', async () => {
  const create = ['user', 'create', ...shop, '--email', 'long@example.com', '--password-stdin'];
  const { code, err } = await place.svc(create, { input: 'secret'.repeat(100) });
  assert.equal(code, 2);
  assert.match(err, /^error: The password must have at most/);
  assert.doesNotMatch(err, /secret/);
});

test('a directory as settings file, and a file without a signing secret, are reported at once', async () => {
  const directory = await place.svc(['--config', 'empty', 'project', 'list']);
  assert.equal(directory.code, 7);
  assert.match(directory.err, /empty is a directory\.\nnext: name the file itself by --config/);
  for (const [content, code] of [
    ['wrongsecret', 2],
    [`whsec_${Buffer.alloc(24, 1).toString('base64')}`, 0],
    [Buffer.alloc(24, 1).toString('base64'), 0],
  ] as const) {
    writeFileSync(join(place.dir, 'signing'), `${content}\n`);
    const port = String(await freePort());
    const ended = await place.svc(['webhook', 'listen', '--secret-file', 'signing', '--port', port, '--for', '0s']);
    assert.equal(ended.code, code, ended.err);
    assert.ok(!ended.err.includes(content));
  }
});

test('a list that is empty because of a filter says so', async () => {
  const none = await place.svc(['audit', 'list', '--actor', 'carla']);
  assert.deepEqual([none.code, none.err.startsWith('No entry matches --actor carla.')], [0, true], none.err);
  const found = await place.svc(['audit', 'list', '--action', 'projectCreated']);
  assert.match(found.out, /projectCreated/);
  assert.equal(found.err, '');
});

test('lists show days, switches, origins, and users who were never seen', async () => {
  await place.json(['apikey', 'create', ...shop, '--name', 'used', '--scopes', 'all']);
  await place.sql(`update api_keys set accessed_at = '2026-01-31T05:41:42.123Z'`);
  assert.match((await place.svc(['apikey', 'list', ...shop])).out, /used.* 2026-01-31$/m);
  const create = ['user', 'create', ...shop, '--email', 'new@example.com', '--password-stdin'];
  assert.match((await place.svc(create, { input: 'correct horse battery' })).out, /^last seen +never$/m);
  for (const [word, shown] of [
    ['on', 'on'],
    ['off', 'off'],
    ['true', 'on'],
    ['false', 'off'],
  ] as const) {
    const set = ['project', 'update', 'shop', '--set', `signup.hideExisting=${word}`];
    assert.match((await place.svc(set)).out, new RegExp(`^signup\\.hideExisting +${shown}$`, 'm'));
    const { settings } = await place.json<{ settings: Record<string, unknown> }>(['project', 'show', 'shop']);
    assert.equal(settings['signup.hideExisting'], shown === 'on');
  }
  assert.match((await place.svc(['project', 'settings'])).out, /^signup\.hideExisting +off /m);
  const { SVC_DATABASE_URL: _, ...env } = place.env;
  const unset = await place.svc(['config', 'show', '--origin'], { env: { ...env, SVC_DATABASE_URL: '' } });
  assert.match(unset.out, /^SVC_DATABASE_URL +default +sqlite:/m);
});

test('a collection shows its bounds and its size in words', async () => {
  await place.json(['collection', 'create', 'Authors', ...blog, '--id', 'authors']);
  const related = ['--type', 'relationship', '--related', 'authors', '--relation', 'manyToOne', '--two-way', 'posts'];
  await place.json(attribute('author', ...related));
  const large = await place.svc(attribute('huge', '--type', 'string', '--size', '99999999'));
  assert.match(large.err, /^A text has at most 16777216 bytes \(SVC_ANSWER_MAX_BYTES\)/);
  const { out } = await place.svc(['collection', 'show', 'posts', ...blog]);
  assert.match(out, /^documents +0$/m);
  assert.match(out, /^author .* manyToOne to authors, back by posts, on delete restrict$/m);
});

test('an import tells refused lines in their order, and takes a slip of a name for one', async () => {
  writeFileSync(join(place.dir, 'slips.ndjson'), '{"titel":"x"}\n{bad\n{"title":1}\n{"title":"right"}\n');
  const load = ['document', 'import', 'slips.ndjson', ...blog, '--collection', 'posts'];
  const { code, err } = await place.svc(load);
  assert.equal(code, 1);
  assert.deepEqual(
    [...err.matchAll(/^line (\d+)/gm)].map(([, line]) => line),
    ['1', '2', '3'],
  );
  assert.match(err, /^next: did you mean the attribute title instead of titel\?$/m);
  writeFileSync(join(place.dir, 'slips.ndjson'), '{"published":"x"}\n');
  assert.match((await place.svc(load)).err, /^next: svc collection add-attribute posts published /m);
});

test('a new password is typed twice, and asked for again if it is too short or differs', async () => {
  const create = ['user', 'create', ...shop, '--email'];
  await Promise.all(
    widths.map(async (columns) => {
      const { code, out } = await atTerminal(
        place,
        [...create, `typed-${columns}@example.com`],
        [
          ['Password', 'short\r'],
          ['at least', `${'\u007f'.repeat(5)}correct horse battery\r`],
          ['once more', 'correct horse batery\r'],
          ['not the same', 'correct horse battery\r'],
          ['once more', 'correct horse battery\r'],
        ],
        columns,
      );
      assert.equal(code, 0, out);
      assert.doesNotMatch(out, /horse/);
    }),
  );
});

test('init tries to connect at once, and asks for another server if it is refused', async () => {
  const fresh = await install({ init: false });
  after(() => fresh.dispose());
  const { SVC_DATABASE_URL: _, ...env } = fresh.env;
  const { code, out } = await atTerminal(
    { ...fresh, env },
    ['init', '--project', 'Shop', '--base-url', 'http://localhost:8080/v1'],
    [
      ['Database', 'postgres://svc@127.0.0.1:1/svc\r'],
      ['Password of the database', 'geheim\r'],
      ['ECONNREFUSED', 'sqlite:chosen.db\r'],
    ],
  );
  assert.equal(code, 0, out);
  assert.match(flat(out), /postgres:\/\/svc:\*\*\*@127\.0\.0\.1:1\/svc: No database server listens there/);
  assert.match(out, /database +sqlite:\S+chosen\.db/);
  assert.doesNotMatch(out, /geheim/);
});

test('an empty list says so at a terminal, and messages break between words', async () => {
  const lists = [
    ['webhook', 'list', ...shop],
    ['team', 'list', ...shop],
    ['bucket', 'list', ...shop],
  ];
  const wrong = ['--config', join(place.dir, 'none'), 'project', 'list'];
  for (const columns of widths) {
    const ended = await commandsAtTerminal(
      place,
      [...lists, wrong].map((args) => ({ args })),
      columns,
    );
    for (const { screen } of ended.slice(0, -1)) assert.match(screen, /\(none\)/);
    const { code, screen = '' } = ended.at(-1) ?? {};
    assert.equal(code, 7);
    assert.match(flat(screen), /error: The configuration file \S+ does not exist\. next: correct the path, or make/);
    // A word that is longer than a line is not cut.
    for (const line of screen.split(/\r?\n/)) assert.ok(line.length <= columns || !/\S\s+\S/.test(line), line);
  }
  assert.match((await place.svc(['webhook', 'list', ...shop])).out, /^ID +NAME[^\n]*\n$/);
});
