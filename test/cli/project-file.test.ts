// Projects as files: an exported project is applied on an empty installation and exported again; changes, removals, mistakes and secrets.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, Databases } from 'node-appwrite';
import { printJson } from '#src/platform/text/json.js';
import { selfSigned } from '../harness/certificate.js';
import { type Installation, install } from '../harness/cli.js';
import { readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

const [place, empty] = [await install(), await install()];
after(async () => {
  await Promise.all([place.dispose(), empty.dispose()]);
});
const documented = readBlocks('docs/projects-as-code.md').find(({ language }) => language === 'yaml')?.text ?? '';
const hidden = 'verborgen-3f9a';
const env = { GITHUB_CLIENT_SECRET: hidden, ALL_WEBHOOK_PASSWORD: hidden };

/** Adds to the documented file: every type of attribute, bounds of 64 bits, a SAML provider, an app, a webhook with a password. */
const all = {
  project: { $id: 'all', name: 'Alles', settings: { 'session.limit': 3, 'pages.name': 'Ümläut "quoted": #1' } },
  platforms: [
    { type: 'apple', package: 'com.example.app' },
    { hostname: '*.example.org', name: 'Subdomains' },
  ],
  providers: [
    {
      ...{
        key: 'corp',
        kind: 'saml',
        name: 'Corp',
        entityId: 'https://idp.example.com',
        emailDomains: ['example.com'],
      },
      ...{ ssoUrl: 'https://idp.example.com/sso', certificates: [selfSigned(['idp'], { bits: 2048 }).cert.trim()] },
    },
    { key: 'github', kind: 'oauth2', enabled: false, clientId: 'Iv1', clientSecret: 'env:GITHUB_CLIENT_SECRET' },
  ],
  teams: [{ $id: 'crew', name: 'Crew' }],
  databases: [
    { $id: 'empty', name: 'Empty', enabled: false },
    {
      $id: 'main',
      name: 'Main',
      collections: [
        {
          ...{ $id: 'things', name: 'Things', documentSecurity: true, $permissions: ['write("users")', 'read("any")'] },
          attributes: [
            { key: 'title', type: 'string', size: 200, required: true },
            { key: 'sealed', type: 'string', size: 200, encrypt: true },
            { key: 'whole', type: 'integer', min: -9007199254740993n, max: 9007199254740993n, default: 0 },
            { key: 'part', type: 'float', min: 0.5, default: 1.5 },
            { key: 'flag', type: 'boolean', default: false },
            { key: 'when', type: 'datetime' },
            { key: 'kind', type: 'enum', elements: ['b', 'a'], default: 'b' },
            { key: 'list', type: 'varchar', size: 20, array: true },
            ...['email', 'url', 'ip', 'text', 'mediumtext', 'longtext', 'bigint'].map((type) => ({ key: type, type })),
            {
              key: 'of',
              type: 'relationship',
              relatedCollection: 'others',
              relationType: 'manyToOne',
              onDelete: 'cascade',
            },
            {
              ...{ key: 'pairs', type: 'relationship', relatedCollection: 'things', relationType: 'manyToMany' },
              ...{ twoWay: true, twoWayKey: 'pairs-of' },
            },
          ],
          indexes: [
            { key: 'words', type: 'fulltext', attributes: ['title'] },
            { key: 'order', type: 'key', attributes: ['kind', '$createdAt'], orders: ['ASC', 'desc'] },
          ],
        },
        { $id: 'others', name: 'Others' },
      ],
    },
  ],
  buckets: [
    { $id: 'files', name: 'Files', compression: 'gzip', fileSecurity: true, allowedFileExtensions: ['b', 'a'] },
  ],
  webhooks: [
    {
      ...{ $id: 'all', name: 'All', url: 'https://hooks.example.com/x', events: ['*'], enabled: false },
      ...{ authUsername: 'svc', authPassword: 'env:ALL_WEBHOOK_PASSWORD' },
    },
  ],
  keys: [
    { name: 'ci', scopes: ['users.read', 'users.write'], expire: '2099-12-31T00:00:00.000Z' },
    { name: 'backend', scopes: ['all'] },
  ],
};

interface Applied {
  readonly code: number | null;
  readonly err: string;
  readonly changes: readonly { action: string; kind: string; id: string; members: string[] }[];
  readonly secrets: readonly { kind: string; id: string; secret: string }[];
}

async function apply(to: Installation, file: string, ...more: string[]): Promise<Applied> {
  const path = join(to.dir, 'project.yaml');
  writeFileSync(path, file);
  const { code, out, err } = await to.svc(['project', 'apply', '-f', path, '--json', ...more], { env });
  assert.ok(!err.includes(hidden) && !out.includes(hidden), 'a secret was printed');
  return { changes: [], secrets: [], ...(out === '' ? {} : JSON.parse(out)), code, err };
}

const printed = async (from: Installation, id: string, ...more: string[]) => {
  const { code, out, err } = await from.svc(['project', 'export', id, ...more]);
  assert.equal(code, 0, err);
  return out;
};

test('a file gives the same project anywhere, applied twice changes nothing, and its secrets work', async () => {
  for (const file of [documented, printJson(all)]) {
    const first = await apply(place, file);
    assert.equal(first.code, 0, first.err);
    assert.ok(first.changes.every(({ action }) => action === 'create') && first.changes.length > 10);
    const again = await apply(place, file);
    assert.deepEqual([again.code, again.changes], [0, []]);
    const id = first.changes[0]?.id ?? '';
    const text = await printed(place, id);
    assert.ok(!text.includes(hidden));
    const copy = await apply(empty, text);
    assert.equal(copy.code, 0, copy.err);
    assert.equal(await printed(empty, id), text);
    assert.deepEqual((await apply(empty, await printed(empty, id, '--format', 'json'), '--prune')).changes, []);
    const key = copy.secrets.find(({ kind }) => kind === 'key')?.secret ?? '';
    const { url } = await empty.serve();
    const client = new Client().setEndpoint(url).setProject(id).setKey(key);
    const { databases } = await new Databases(client).list();
    assert.ok(databases.length > 0);
  }
});

test('the dry run names what differs, and only what it named is changed', async () => {
  const text = await printed(place, 'all');
  const changed = text
    .replace('name: Things', 'name: All things')
    .replace('size: 200', 'size: 300')
    .replace('max: 9007199254740993', 'max: 9007199254740995')
    .replace('session.limit: 3', 'session.limit: 4')
    .replace('- DESC', '- ASC');
  const places = [
    ...['project all session.limit', 'collection main/things name', 'attribute main/things/title size'],
    ...['attribute main/things/whole max', 'index main/things/order orders'],
  ];
  for (const more of [['--dry-run'], []]) {
    const { code, changes } = await apply(place, changed, ...more);
    assert.equal(code, more.length === 0 ? 0 : 5);
    assert.deepEqual(
      changes.map(({ action, kind, id, members }) => `${action} ${kind} ${id} ${members.join()}`),
      places.map((one) => `update ${one}`),
    );
  }
  assert.equal((await apply(place, changed)).changes.length, 0);
  const plain = await place.svc(['project', 'apply', '-f', '-', '--dry-run'], { input: text });
  assert.match(plain.out, /^~ attribute main\/things\/whole\n {4}max: 9007199254740995 -> 9007199254740993$/m);
});

test('what the file does not name is removed with --prune only, and data only after a confirmation', async () => {
  const kept = await printed(place, 'all');
  const added = kept
    .replace(
      '  - $id: empty\n',
      '  - $id: added\n    name: Added\n    collections:\n      - {$id: one, name: One, attributes: [{key: a, type: text}]}\n  - $id: empty\n',
    )
    .replace('teams:\n', 'teams:\n  - {$id: another, name: Another}\n')
    .replace('- key: title\n', '- {key: extra, type: integer}\n          - key: title\n');
  assert.deepEqual(
    (await apply(place, added)).changes.map(({ kind, id }) => `${kind} ${id}`),
    ['team another', 'database added', 'collection added/one', 'attribute added/one/a', 'attribute main/things/extra'],
  );
  assert.deepEqual((await apply(place, kept)).changes, []);
  const refused = await apply(place, kept, '--prune');
  assert.equal(refused.code, 4, refused.err);
  const removed = await apply(place, kept, '--prune', '--confirm', 'all');
  assert.deepEqual(
    removed.changes.map(({ action, kind, id }) => `${action} ${kind} ${id}`),
    ['delete attribute main/things/extra', 'delete database added', 'delete team another'],
  );
  assert.equal(await printed(place, 'all'), kept);
});

test('a mistake is named with its place, and nothing is changed', async () => {
  const text = await printed(place, 'all');
  const cases = [
    [text.replace('size: 300', 'sise: 300'), 2, /databases\[1\]\.collections\[1\]\.attributes\[0\].*sise/],
    [
      text.replace('key: email\n            type: email', 'key: email\n            type: url'),
      5,
      /attribute main\/things\/email has type/,
    ],
    [text.replace('- users.read', '- teams.read'), 5, /key ci has scopes/],
    [text.replace('project:', 'project: ['), 2, /not YAML or JSON/],
    [text.replace('key: email', 'key: url'), 2, /attribute main\/things\/url twice/],
    [text.replace('env:GITHUB_CLIENT_SECRET', hidden), 2, /env:NAME or file:PATH/],
    [text.replace('session.limit: 4', 'session.limit: many'), 2, /session\.limit/],
    [text.replace('session.limit: 4', 'constructor: 4'), 2, /not a project setting/],
    [text.replace('env:GITHUB_CLIENT_SECRET', 'env:SVC_MASTER_KEY'), 2, /must not be a setting of this service/],
    [text.replace('key: flag\n            type: boolean', 'key: flog\n            type: bool'), 2, /unknown type bool/],
    [`${text}\na: &a [*a, *a]\n`, 2, /aliases|has unknown members/],
    [text.replace('teams:\n', 'teams:\n  - {$id: another, name: Another}\n'), 5, /ids are never given again/],
  ] as const;
  for (const [file, code, message] of cases) {
    const refused = await apply(place, file);
    assert.equal(refused.code, code, refused.err);
    assert.match(refused.err, message);
  }
  const without = { GITHUB_CLIENT_SECRET: '', ALL_WEBHOOK_PASSWORD: '' };
  const known = await place.svc(['project', 'apply', '-f', '-'], { input: text, env: without });
  assert.match(known.out, /is as the file says/);
  const other = await place.svc(['project', 'apply', '-f', '-', '--project', 'other'], { input: text, env: without });
  assert.deepEqual([other.code, /needs the secret env:GITHUB_CLIENT_SECRET/.test(other.err)], [2, true], other.err);
  assert.equal(await printed(place, 'all'), text);
});

test("files of Appwrite's command line are read, and their other parts are named", async () => {
  const common = { $permissions: ['create("users")', 'read("any")'], databaseId: 'db', enabled: true };
  const column = { required: false, array: false, default: null };
  const file = {
    collections: [{ $id: 'lost', name: 'lost', databaseId: 'none' }],
    ...{ projectId: '698fcc', projectName: 'From Appwrite', endpoint: 'https://fra.cloud.appwrite.io/v1' },
    settings: {
      services: { account: true, locale: false },
      auth: {
        methods: { jwt: true, phone: false, 'magic-url': true },
        security: { duration: 8_640_000, sessionsLimit: 5, limit: 0, passwordHistory: 4, personalDataCheck: true },
      },
    },
    functions: [{ $id: 'f' }, { $id: 'g' }],
    tablesDB: [{ $id: 'db', name: 'Db', enabled: true }],
    tables: [
      {
        ...{ ...common, $id: 'users', name: 'users', rowSecurity: true },
        columns: [
          { ...column, key: 'email', type: 'string', format: 'email', status: 'available', error: '' },
          { ...column, key: 'role', type: 'string', format: 'enum', elements: ['a', 'b'] },
          { ...column, key: 'count', type: 'integer', min: -(2n ** 63n), max: 2n ** 63n - 1n, default: 0 },
          { ...column, key: 'price', type: 'double', min: -Number.MAX_VALUE, max: Number.MAX_VALUE },
          { ...column, key: 'due', type: 'datetime', format: '' },
          { ...column, key: 'place', type: 'point' },
          {
            ...{ ...column, key: 'posts', type: 'relationship', relatedTable: 'posts', relationType: 'manyToOne' },
            ...{ twoWay: true, twoWayKey: 'author', onDelete: 'setNull', side: 'child' },
          },
        ],
        indexes: [
          { key: 'by-role', type: 'key', status: 'available', columns: ['role'], orders: ['ASC'] },
          { key: 'by-place', type: 'spatial', columns: ['place'] },
        ],
      },
      {
        ...{ ...common, $id: 'posts', name: 'posts', rowSecurity: false },
        columns: [
          {
            ...{ ...column, key: 'author', type: 'relationship', relatedTable: 'users', relationType: 'manyToOne' },
            ...{ twoWay: true, twoWayKey: 'posts', onDelete: 'setNull', side: 'parent' },
          },
          { ...column, key: 'title', type: 'string', size: 50, required: true, encrypt: false },
        ],
        indexes: [],
      },
    ],
    buckets: [
      { $id: 'b', name: 'b', $permissions: [], maximumFileSize: 30_000_000, compression: 'zstd', antivirus: true },
    ],
  };
  const { out, err, code } = await place.svc(['project', 'apply', '-f', '-', '-p', 'moved'], {
    input: printJson(file),
  });
  assert.equal(code, 0, err);
  assert.match(
    err,
    /left out: 2 functions, the collection lost, whose database none is not in the file, the settings passwordHistory, personalDataCheck, locale, the attribute db\/users\/place of the type point, the index db\/users\/by-place\./,
  );
  assert.match(out, /^\+ attribute db\/posts\/author$/m);
  assert.deepEqual((await apply(place, printJson(file), '-p', 'moved')).changes, []);
  const text = await printed(place, 'moved');
  for (const part of ['session.days: 100', 'login.phone: false', 'type: email', 'documentSecurity: true', 'gzip'])
    assert.ok(text.includes(part), part);
});

test('--prune with a file of Appwrite removes only kinds that such a file has, and nothing in place of what it leaves out', async () => {
  await apply(
    place,
    printJson({
      project: { $id: 'pruned' },
      platforms: [{ hostname: 'shop.example.com' }],
      providers: [{ key: 'github', kind: 'oauth2', clientId: 'Iv1', clientSecret: 'env:GITHUB_CLIENT_SECRET' }],
      webhooks: [{ $id: 'hook', name: 'Hook', url: 'https://hooks.example.com/x', events: ['*'] }],
      keys: [{ name: 'prod', scopes: ['all'] }],
      teams: [{ $id: 'crew', name: 'Crew' }],
      databases: [
        {
          ...{ $id: 'db', name: 'Db' },
          collections: [{ $id: 'c', name: 'C', attributes: [{ key: 'place', type: 'text' }] }],
        },
      ],
    }),
  );
  const file = {
    ...{ projectId: 'pruned', databases: [{ $id: 'db', name: 'Db' }] },
    collections: [{ $id: 'c', name: 'C', databaseId: 'db', attributes: [{ key: 'place', type: 'point' }] }],
  };
  const removed = await apply(place, printJson(file), '--prune', '--confirm', 'pruned');
  assert.equal(removed.code, 0, removed.err);
  assert.deepEqual(
    removed.changes.map(({ action, kind, id }) => `${action} ${kind} ${id}`),
    ['delete team crew'],
  );
});

test('platforms and providers are renamed in their place, and removed with --prune', async () => {
  const project = { $id: 'small', name: 'Small' };
  const platform = { hostname: 'small.example.com', name: 'Small' };
  const provider = { key: 'github', kind: 'oauth2', clientId: 'Iv1', clientSecret: 'env:GITHUB_CLIENT_SECRET' };
  const first = await apply(place, printJson({ project, platforms: [platform], providers: [provider] }));
  assert.equal(first.code, 0, first.err);
  const renamed = await apply(
    place,
    printJson({
      project,
      platforms: [{ ...platform, name: 'Renamed' }],
      providers: [{ ...provider, enabled: false, clientId: 'Iv2' }],
    }),
  );
  assert.deepEqual(
    renamed.changes.map(({ action, kind, members }) => `${action} ${kind} ${members.join()}`).toSorted(),
    ['update platform name', 'update provider enabled,clientId'],
    renamed.err,
  );
  const text = await printed(place, 'small');
  assert.match(text, /name: Renamed/);
  assert.match(text, /clientId: Iv2/);
  const pruned = await apply(
    place,
    printJson({ project, platforms: [], providers: [] }),
    '--prune',
    '--confirm',
    'small',
  );
  assert.deepEqual(pruned.changes.map(({ action, kind }) => `${action} ${kind}`).toSorted(), [
    ...['delete platform', 'delete provider'],
  ]);
});

test('keys of one name are exported, applied and removed one by one', async () => {
  const keys = [['all'], ['users.read'], ['users.read']].map((scopes) => ({ name: 'mover', scopes }));
  const project = { $id: 'keyed' };
  const made = await apply(place, printJson({ project, keys }));
  assert.deepEqual([made.code, made.secrets.length], [0, 3], made.err);
  const text = await printed(place, 'keyed');
  assert.deepEqual((await apply(place, text, '--prune')).changes, []);
  const copy = await apply(empty, text);
  assert.equal(copy.code, 0, copy.err);
  assert.equal(await printed(empty, 'keyed'), text);
  const fewer = await apply(place, printJson({ project, keys: keys.slice(1, 2) }), '--prune', '--confirm', 'keyed');
  assert.deepEqual([fewer.code, fewer.changes.length], [0, 2], fewer.err);
  assert.deepEqual(await place.json(['project', 'export', 'keyed', '--format', 'json']), {
    project: { ...project, name: 'keyed' },
    keys: keys.slice(1, 2),
  });
});
