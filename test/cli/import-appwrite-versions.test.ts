// svc import appwrite: the answers of Appwrite 1.6 to 1.9 in their forms, a busy source, and broken connections.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
type Report = { kinds: (Json & { kind: string; failed: number })[]; unsupported: { kind: string; count: number }[] };

let place: Installation;
before(async () => {
  place = await install();
  writeFileSync(join(place.dir, 'key'), 'standard_key');
});
after(() => place.dispose());

const at = '2024-05-06T07:08:09.010+00:00';
const times = { $createdAt: at, $updatedAt: at };
const user = (id: string, hash: string, password: string, hashOptions: Json, more: Json = {}) => ({
  ...{ $id: id, ...times, name: id, password, hash, hashOptions, registration: at, status: true, labels: [] },
  ...{ passwordUpdate: at, email: `${id}@mail.example`, phone: '', emailVerification: false, phoneVerification: false },
  ...{ mfa: false, prefs: [], targets: [], accessedAt: at, ...more },
});
const argon2 = '$argon2id$v=19$m=2048,t=4,p=3$c29tZXNhbHQxMjM0NTY3OA$ReY0P8pwVwyVvAQWbcpnTz0qNkAxv1PbMtyCCQy0uvA';
const bcrypt = '$2b$06$abcdefghijklmnopqrstuuQWwSHPBVgYIPSHDYjADB6E06PzFapl6';
const firebase = {
  ...{ type: 'scryptMod', salt: '42xEC+ixf3L2lw==', saltSeparator: 'Bw==' },
  signerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
};
const users = [
  user('modern', 'argon2', argon2, { type: 'argon2', memoryCost: 2048, timeCost: 4, threads: 3 }, { mfa: true }),
  user('crypt', 'bcrypt', bcrypt, { type: 'bcrypt' }, { prefs: { dark: true }, labels: ['vip'] }),
  user('kdf', 'scrypt', 'ab'.repeat(64), { type: 'scrypt', costCpu: 8, costMemory: 14, costParallel: 1, length: 64 }),
  user(
    'fire',
    'scryptMod',
    'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    firebase,
  ),
  user('digest', 'sha', 'd63ab9ecc0a7c374a90a122de5c8c012ddc8e8b5', { type: 'sha' }),
  user('none', 'argon2', '', { type: 'argon2' }, { email: '', phone: '+4915112345678', phoneVerification: true }),
];

const field = (key: string, type: string, more: Json = {}) => ({
  ...{ key, type, status: 'available', error: '', required: false, array: false, ...times, default: null, ...more },
});
const relation = (key: string, related: Json, more: Json) =>
  field(key, 'relationship', { ...related, twoWay: true, onDelete: 'setNull', ...more });
/** Fields of posts, in the words of collections or of tables. */
const fieldsOf = (isTable: boolean, more: Json[]) => [
  field('title', 'string', { size: 100, required: true }),
  field('mail', 'string', { format: 'email' }),
  field('kind', 'string', { format: 'enum', elements: ['a', 'b'] }),
  field('big', 'integer', { min: '-9223372036854775808', max: '9223372036854775807' }),
  relation(
    'author',
    { [isTable ? 'relatedTable' : 'relatedCollection']: 'authors' },
    { relationType: 'oneToMany', twoWayKey: 'posts', side: 'child' },
  ),
  ...more,
];
const authorFields = (isTable: boolean) => [
  field('name', 'string', { size: 50 }),
  relation(
    'posts',
    { [isTable ? 'relatedTable' : 'relatedCollection']: 'posts' },
    { relationType: 'oneToMany', twoWayKey: 'author', side: 'parent' },
  ),
];
const collection = (id: string, fields: Json[], isTable: boolean) => ({
  ...{ $id: id, ...times, $permissions: ['read("any")'], databaseId: 'blog', name: id, enabled: true },
  [isTable ? 'rowSecurity' : 'documentSecurity']: true,
  [isTable ? 'columns' : 'attributes']: fields,
  indexes:
    id === 'posts'
      ? [
          {
            ...{ key: 'by_title', type: 'key', status: 'available', error: '', orders: ['ASC'], lengths: [] },
            [isTable ? 'columns' : 'attributes']: ['title'],
          },
        ]
      : [],
});

interface Version {
  readonly name: string;
  readonly isTable: boolean;
  readonly more: Json[];
  /** The member of a document for its author, by the selection of the request. */
  author(select: string[] | undefined): unknown;
}
const expanded = { $id: 'ada', name: 'Ada', $databaseId: 'blog', $collectionId: 'authors', $permissions: [], ...times };
const versions: Version[] = [
  { name: '1.6', isTable: false, more: [], author: (select) => (select === undefined ? expanded : undefined) },
  {
    name: '1.7',
    isTable: false,
    more: [],
    author: (select) => (select?.includes('author.$id') ? expanded : undefined),
  },
  {
    name: '1.8',
    isTable: true,
    more: [],
    author: (select) => (select?.includes('author.$id') ? { $id: 'ada' } : 'ada'),
  },
  { name: '1.9', isTable: true, more: [field('spot', 'point')], author: () => 'ada' },
];

/** A server that answers as Appwrite does. It is busy once, fails once and closes a connection once. */
async function appwrite({ name, isTable, more, author }: Version): Promise<Server> {
  const faults = ['busy', 'failing', 'closing'];
  const [base, one, rows] = isTable ? ['/tablesdb', 'tables', 'rows'] : ['/databases', 'collections', 'documents'];
  const content = Buffer.from('a picture');
  const member = (id: string, confirm: boolean) => ({
    ...{ $id: `member-${id}`, ...times, userId: id, userName: id, userEmail: `${id}@mail.example`, teamId: 'crew' },
    ...{ teamName: 'Crew', invited: at, joined: confirm ? at : '', confirm, mfa: false, roles: ['owner'] },
  });
  const posts = (select?: string[]) =>
    ['one', 'two'].map((id) => ({
      ...{ $id: id, ...times, $permissions: ['read("user:crypt")'], $databaseId: 'blog', $sequence: 1 },
      ...{ title: `Title ${id}`, mail: null, kind: 'a', big: 7, author: author(select) },
      ...(more.length > 0 ? { spot: [1, 2] } : {}),
    }));
  const lists: Record<string, (select?: string[]) => [string, Json[]]> = {
    '/users': () => ['users', users],
    '/users/identities': () => [
      'identities',
      [{ $id: 'i', userId: 'crypt', provider: 'google', providerUid: 'g', providerEmail: 'g@mail.example' }],
    ],
    '/teams': () => ['teams', [{ $id: 'crew', ...times, name: 'Crew', total: 1, prefs: { motto: 'ahoy' } }]],
    '/teams/crew/memberships': () => ['memberships', [member('crypt', true), member('fire', false)]],
    '/databases': () => ['databases', isTable ? [] : [{ $id: 'blog', name: 'Blog', ...times, enabled: true }]],
    ...(isTable
      ? { '/tablesdb': () => ['databases', [{ $id: 'blog', name: 'Blog', ...times, enabled: true, type: 'tablesdb' }]] }
      : {}),
    [`${base}/blog/${one}`]: () => [
      one,
      [collection('authors', authorFields(isTable), isTable), collection('posts', fieldsOf(isTable, more), isTable)],
    ],
    [`${base}/blog/${one}/authors/${rows}`]: () => [
      rows,
      [{ $id: 'ada', ...times, $permissions: [], name: 'Ada', posts: ['one', 'two'] }],
    ],
    [`${base}/blog/${one}/posts/${rows}`]: (select) => [rows, posts(select)],
    '/storage/buckets': () => [
      'buckets',
      [
        {
          ...{ $id: 'pictures', ...times, $permissions: [], fileSecurity: false, name: 'Pictures', enabled: true },
          ...{
            maximumFileSize: 30_000_000,
            allowedFileExtensions: [],
            compression: 'zstd',
            encryption: true,
            antivirus: true,
          },
        },
      ],
    ],
    '/storage/buckets/pictures/files': () => [
      'files',
      [
        {
          ...{ $id: 'pic', bucketId: 'pictures', ...times, $permissions: [], name: 'pic.txt', mimeType: 'text/plain' },
          ...{ signature: '101a0e3e2f58188b3e2ffc1057316c13', sizeOriginal: 9, chunksTotal: 1, chunksUploaded: 1 },
        },
        { $id: 'part', bucketId: 'pictures', ...times, $permissions: [], chunksTotal: 3, chunksUploaded: 1 },
      ],
    ],
    '/functions': () => ['functions', [{ $id: 'f' }, { $id: 'g' }]],
    '/messaging/topics': () => ['topics', [{ $id: 't' }]],
    ...(name === '1.9'
      ? {
          '/webhooks': () => [
            'webhooks',
            [
              {
                $id: 'hook',
                name: 'Hook',
                url: 'https://hooks.example.com',
                events: ['users.*.create'],
                security: true,
              },
              {
                $id: 'all',
                name: 'All',
                url: 'https://hooks.example.com',
                events: ['documentCreated'],
                security: true,
              },
            ],
          ],
        }
      : {}),
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://source');
    const path = url.pathname.replace('/v1', '');
    const json = (status: number, body: Json, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    if (request.headers['x-appwrite-key'] !== 'standard_key') return json(401, { type: 'user_unauthorized' });
    const fault = path === '/users' ? faults.pop() : undefined;
    if (fault === 'closing') return request.socket.destroy();
    if (fault === 'failing') return json(503, { message: 'Starting', type: 'general_unknown', code: 503 });
    if (fault === 'busy') return json(429, { type: 'general_rate_limit_exceeded' }, { 'retry-after': '0' });
    if (path.endsWith('/pic/download')) return response.end(content);
    const queries: { method: string; values: unknown[] }[] = url.searchParams
      .getAll('queries[]')
      .map((query) => JSON.parse(query));
    const valuesOf = (method: string) => queries.find((query) => query.method === method)?.values;
    const select = valuesOf('select') as string[] | undefined;
    if (name === '1.6' && select !== undefined)
      return json(400, { message: 'Invalid query', type: 'general_query_invalid', code: 400 });
    const [list, entries] = lists[path]?.(select) ?? ['', undefined];
    if (entries === undefined)
      return json(404, { message: 'The requested route was not found.', type: 'general_route_not_found', code: 404 });
    const after = entries.findIndex(({ $id }) => $id === valuesOf('cursorAfter')?.[0]) + 1;
    return json(200, { total: entries.length, [list]: entries.slice(after, after + Number(valuesOf('limit')?.[0])) });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

for (const version of versions)
  test(`imports from Appwrite ${version.name}`, async () => {
    const server = await appwrite(version);
    const project = `v${version.name.replace('.', '-')}`;
    try {
      await place.json(['project', 'create', project, '--id', project]);
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
      const args = ['import', 'appwrite', '--endpoint', endpoint, '--source-project', 'old', '--key-file', 'key'];
      for (const run of ['first', 'second']) {
        const { code, out, err } = await place.svc([...args, '--project', project, '--json']);
        assert.equal(code, 0, err + out);
        const { kinds, unsupported }: Report = JSON.parse(out);
        const counts = Object.fromEntries(kinds.map(({ kind, created, changed }) => [kind, [created, changed]]));
        const expected = { users: 6, memberships: 2, documents: 3, relationships: 2, files: 1, indexes: 1, buckets: 1 };
        for (const [kind, number] of Object.entries(expected))
          assert.deepEqual(counts[kind], [run === 'first' ? number : 0, 0], `${run} ${kind} ${out}`);
        assert.deepEqual(
          unsupported.map(({ kind, count }) => `${kind}: ${count}`).sort(),
          [
            ...['authenticator apps: 1', 'functions: 2', 'identities at google: 1', 'messaging topics: 1'],
            ...['password hashes (scrypt): 1', 'preferences of teams: 1', 'uploads to pictures: 1'],
            ...(version.name === '1.9' ? ['switched-on webhooks: 1', 'webhooks: 1'] : ['webhooks: 0']),
            ...(version.more.length > 0 ? ['attribute blog/posts/spot: 1'] : []),
          ].sort(),
        );
      }
      const exported = await place.svc([
        ...['document', 'export', '--project', project, '--database', 'blog', '--collection', 'posts'],
      ]);
      const documents: Json[] = exported.out.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
      assert.deepEqual(
        documents.map(({ $id, title, author, $updatedAt, $permissions }) => ({
          $id,
          title,
          author,
          $updatedAt,
          $permissions,
        })),
        ['one', 'two'].map(($id) => ({
          ...{ $id, title: `Title ${$id}`, author: 'ada', $updatedAt: at, $permissions: ['read("user:crypt")'] },
        })),
      );
      const shown = await place.json<Json>(['user', 'show', 'crypt', '--project', project]);
      assert.deepEqual([shown.prefs, shown.labels, shown.registration], [{ dark: true }, ['vip'], at]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
