// svc import appwrite: accounts that were taken before, refused users, lists that break, and schemas that change.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import {
  answer,
  appwriteSource,
  type Json,
  json,
  page,
  type SourceList,
  sourceCollection,
  sourceDocument,
  sourceLists,
  sourceUser,
  times,
} from './appwrite-source.js';

type Kind = { kind: string; read: number; created: number; changed: number; skipped: number; failed: number };
type Report = { kinds: Kind[]; unsupported: { kind: string; count: number; reason: string }[] };

let place: Installation;
let server: Server;
before(async () => {
  place = await install();
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off' });
  writeFileSync(join(place.dir, 'key'), 'standard_key');
  server = await place.serve();
});
after(() => place.dispose());

/** Imports from a source into a project. `report` has the lines of `--report`. */
async function imported(lists: Record<string, SourceList>, project: string, ...more: string[]) {
  const source = await appwriteSource(lists);
  try {
    const args = ['import', 'appwrite', '--endpoint', source.endpoint, '--source-project', 'old', '--key-file', 'key'];
    const { code, out, err } = await place.svc([
      ...args,
      '--project',
      project,
      '--json',
      '--report',
      'report',
      ...more,
    ]);
    const report: Json[] = readFileSync(join(place.dir, 'report'), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : JSON.parse(line)));
    const { kinds = [], unsupported = [] }: Partial<Report> = JSON.parse(out || '{}');
    const counts = Object.fromEntries(
      kinds.map(({ kind, created, changed, skipped, failed }) => [kind, [created, changed, skipped, failed]]),
    );
    return { code, err, report, counts, unsupported };
  } finally {
    source.stop();
  }
}

const newProject = (id: string) => place.json(['project', 'create', id, '--id', id]);

async function send(project: string, method: string, path: string, body?: Json, session?: unknown) {
  const headers = { 'Content-Type': 'application/json', 'X-Service-Project': project };
  const answer = await fetch(server.url + path, {
    method,
    headers: { ...headers, ...(session === undefined ? {} : { 'X-Service-Session': String(session) }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json().catch(() => ({}))) as Json };
}

/** The documents of posts, by id. */
async function posts(project: string): Promise<Record<string, Json>> {
  const { out } = await place.svc([
    ...['document', 'export', '--project', project, '--database', 'blog', '--collection', 'posts'],
  ]);
  const all: Json[] = out.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)));
  return Object.fromEntries(all.map((one) => [one.$id, one]));
}

const password = 'a password of a stranger';
const own = (id: string) => [`read("user:${id}")`, `update("user:${id}")`];

test('an account that signed up with the id of a user of the source gets nothing of that user', async () => {
  await newProject('taken');
  const lists = () => ({
    ...sourceLists([sourceUser('victim'), sourceUser('ada', { phone: '+4915112345678' })], {
      posts: [
        sourceCollection('posts', ['title'], ['read("user:victim/verified")', 'create("user:ada")']),
        [sourceDocument('secret', { title: 'Secret' }, [...own('victim'), ...own('ada')])],
      ],
    }),
    '/teams': ['teams', [{ $id: 'crew', ...times, name: 'Crew', total: 2, prefs: {} }]] as const,
    '/teams/crew/memberships': [
      'memberships',
      ['victim', 'ada'].map((userId) => ({
        ...{ $id: `of-${userId}`, ...times, userId, teamId: 'crew', invited: times.$createdAt, roles: ['owner'] },
        ...{ joined: times.$createdAt, confirm: true },
      })),
    ] as const,
  });
  const email = 'stranger@mail.example';
  const signUp = await send('taken', 'POST', '/account', { userId: 'victim', email, password });
  assert.equal(signUp.status, 201, JSON.stringify(signUp.body));
  const { body: session } = await send('taken', 'POST', '/account/sessions/email', { email, password });
  for (const more of [['--dry-run'], [], [], ['--resume']]) {
    const { code, report, counts, unsupported } = await imported(lists(), 'taken', ...more);
    assert.equal(code, 1);
    assert.deepEqual(counts.users?.[3], 1);
    const [refused] = report;
    assert.deepEqual([refused?.id, refused?.type], ['victim', 'user_already_exists']);
    assert.match(String(refused?.message), /somebody signed up.*svc user update victim --email ADDRESS/s);
    assert.equal(counts.memberships?.[3], 1);
    const left = unsupported.find(({ kind }) => kind === 'permissions of users');
    assert.equal(left?.count, 3);
    const listed = report.filter(({ type }) => type === 'user_refused').map(({ id }) => id);
    assert.deepEqual(listed, ['blog/posts', 'blog/posts/secret', 'blog/posts/secret']);
  }
  assert.deepEqual((await posts('taken')).secret?.$permissions, own('ada'));
  const victim = { email: 'victim@mail.example', password };
  assert.equal((await send('taken', 'POST', '/account/sessions/email', victim)).status, 401);
  const path = '/databases/blog/collections/posts/documents/secret';
  assert.equal((await send('taken', 'GET', path, undefined, session.secret)).status, 404);
  assert.equal((await send('taken', 'GET', '/account', undefined, session.secret)).body.email, email);
  assert.deepEqual((await send('taken', 'GET', '/teams', undefined, session.secret)).body.total, 0);

  const row = { $id: 'victim', email: 'victim@mail.example', name: 'Victim' };
  writeFileSync(join(place.dir, 'victim.ndjson'), JSON.stringify(row));
  for (const flag of ['--update', '--resume']) {
    const { code, err } = await place.svc(['user', 'import', 'victim.ndjson', '--project', 'taken', flag]);
    assert.deepEqual([code, /somebody signed up/.test(err)], [1, true], err);
  }

  // Labels are no credential.
  writeFileSync(join(place.dir, 'labels.ndjson'), JSON.stringify({ $id: 'victim', labels: ['vip'] }));
  const labelled = await place.svc(['user', 'import', 'labels.ndjson', '--project', 'taken', '--update', '--json']);
  assert.deepEqual([labelled.code, JSON.parse(labelled.out).updated], [0, 1], labelled.err);

  // The operator says that they are the same person.
  await place.json(['user', 'update', 'victim', '--project', 'taken', '--email', email]);
  const after = await imported(lists(), 'taken');
  assert.deepEqual([after.code, after.counts.users], [0, [0, 1, 1, 0]], after.err);
  assert.deepEqual((await posts('taken')).secret?.$permissions, [...own('victim'), ...own('ada')]);
});

test('an imported account stays one after its user has verified the address, also without any', async () => {
  await newProject('verified');
  const lists = (name: string) =>
    sourceLists([sourceUser('ada', { name, emailVerification: false }), sourceUser('nobody', { name, email: '' })], {});
  assert.equal((await imported(lists('First'), 'verified')).code, 0);
  await place.json(['user', 'update', 'ada', '--project', 'verified', '--email-verified', 'on']);
  const second = await imported(lists('Second'), 'verified');
  assert.deepEqual([second.code, second.counts.users], [0, [0, 2, 0, 0]], second.err);
});

test('refused users and wrong permissions leave no rights behind', async () => {
  await newProject('refused');
  const lists = sourceLists(
    [sourceUser('ada'), sourceUser('tabby', { name: 'Tab\tName' }), sourceUser('twin', { email: 'ada@mail.example' })],
    {
      posts: [
        sourceCollection('posts', ['title']),
        [
          sourceDocument('one', { title: 'One' }, [...own('tabby'), ...own('twin'), 'read("user:ada")']),
          sourceDocument('two', { title: 'Two' }, ['read("user:bad id!")', 'weird("x")', '', 'read("any")']),
        ],
      ],
    },
  );
  const bucket = { $id: 'pics', ...times, name: 'Pics', enabled: true, fileSecurity: true };
  lists['/storage/buckets'] = ['buckets', [{ ...bucket, $permissions: ['read("user:twin")'] }]];
  const file = { $id: 'empty', ...times, name: 'empty.txt', mimeType: 'text/plain', sizeOriginal: 0, $permissions: [] };
  lists['/storage/buckets/pics/files'] = ['files', [file]];
  const { code, counts, unsupported, report } = await imported(lists, 'refused');
  assert.equal(unsupported.find(({ kind }) => kind === 'empty files')?.count, 1);
  assert.equal(report.find(({ type }) => type === 'storage_file_empty')?.id, 'pics/empty');
  assert.deepEqual([code, counts.users, counts.documents], [1, [1, 0, 0, 2], [2, 0, 0, 0]]);
  const documents = await posts('refused');
  assert.deepEqual(documents.one?.$permissions, ['read("user:ada")']);
  assert.deepEqual(documents.two?.$permissions, ['read("any")']);
  const left = unsupported.filter(({ kind }) => kind.startsWith('permissions'));
  assert.deepEqual(
    left.map(({ kind, count }) => [kind, count]),
    [
      ['permissions of users', 5],
      ['permissions', 3],
    ],
  );
  assert.equal(report.filter(({ kind }) => kind === 'permissions').length, 8);
  const again = await imported(lists, 'refused');
  assert.deepEqual(again.counts.documents, [0, 0, 2, 0]);
});

/** Answers the first page, and everything after it in another way. */
const breaking =
  (member: string, entries: readonly unknown[], broken: (response: ServerResponse) => void): SourceList =>
  (response, after) =>
    after === undefined ? page(response, member, entries) : broken(response);

test('a list that breaks in the middle fails, and the next run completes it', async () => {
  await newProject('broken');
  const entries = Array.from({ length: 60 }, (_, at) => sourceDocument(`post-${at}`, { title: 'Title' }));
  const collections = { posts: [sourceCollection('posts', ['title']), entries] } as const;
  const whole = sourceLists([sourceUser('ada')], collections);
  const path = '/databases/blog/collections/posts/documents';
  const html = '<html><body>Maintenance</body></html>';
  const faults: [fault: (response: ServerResponse) => void, message: RegExp][] = [
    [(response) => answer(response, 200, 'text/html', html), /not one of the API \(status 200\)/],
    [(response) => answer(response, 403, 'text/html', html), /only 50 entries.*\(status 403\)/],
    [(response) => answer(response, 404, 'text/html', html), /\(status 404\)/],
    [(response) => answer(response, 200, 'application/json', '{"documents":[{"$id":"po'), /\(status 200\)/],
    [(response) => json(response, 200, { documents: {} }), /\(status 200\)/],
    [(response) => json(response, 401, { type: 'general_unauthorized_scope', message: 'No scope.' }), /No scope/],
    [(response) => page(response, 'documents', entries), /the same entries again/],
  ];
  for (const [fault, message] of faults) {
    const lists = { ...whole, [path]: breaking('documents', entries, fault) };
    const { code, counts, report, unsupported } = await imported(lists, 'broken');
    assert.deepEqual([code, counts.documents?.[3]], [1, 1], JSON.stringify(counts));
    const [line] = report;
    assert.deepEqual([line?.kind, line?.id, line?.type], ['documents', path, 'source_incomplete']);
    assert.match(String(line?.message), message);
    assert.deepEqual(
      unsupported.filter(({ kind }) => kind.startsWith('documents')),
      [],
    );
  }
  const users = Array.from({ length: 60 }, (_, at) => sourceUser(`user-${at}`));
  const fault = (response: ServerResponse) => json(response, 200, {});
  const rest = {
    '/users': breaking('users', users, fault),
    '/teams': (response: ServerResponse) => answer(response, 200, 'text/html', html),
  };
  const more = await imported({ ...whole, ...rest }, 'broken');
  assert.deepEqual([more.code, more.counts.users, more.counts.teams], [1, [50, 0, 0, 1], [0, 0, 0, 1]]);
  assert.deepEqual(more.counts.documents, [10, 0, 50, 0]);
  const complete = await imported(whole, 'broken');
  assert.deepEqual([complete.code, complete.counts.documents], [0, [0, 0, 60, 0]], complete.err);
});

test('a broken connection that heals, entries that are no records, and missing scopes', async () => {
  await newProject('odd');
  const entries = [sourceDocument('one', { title: 'One' }), null, 7, { title: 'without an id' }];
  const whole = sourceLists([null, sourceUser('ada'), 'text'], {
    posts: [sourceCollection('posts', ['title']), entries],
  });
  let pages = 2;
  const teams: SourceList = (response) => {
    pages -= 1;
    if (pages > 0) answer(response, 200, 'text/html', '<html></html>');
    else page(response, 'teams', [null, { $id: 'crew', ...times, name: 'Crew', prefs: {} }]);
  };
  const noScope: SourceList = (response) => json(response, 401, { type: 'general_unauthorized_scope', message: 'No' });
  const lists = { ...whole, '/teams': teams, '/teams/crew/memberships': noScope, '/webhooks': noScope };
  const { code, counts, unsupported, err } = await imported(lists, 'odd');
  assert.deepEqual([code, counts.users, counts.documents], [1, [1, 0, 0, 2], [1, 0, 0, 3]], err);
  assert.deepEqual(counts.teams, [1, 0, 0, 1]);
  const scopes = unsupported.flatMap(({ reason }) => /the scope (\S+)/.exec(reason)?.[1] ?? []);
  assert.deepEqual(scopes.sort(), ['teams.read', 'webhooks.read']);
});

test('webhooks arrive switched off, with the events that mean the same, and teams with their time', async () => {
  await newProject('hooks');
  const hook = (id: string, events: string[]) => ({
    ...{ $id: id, name: id, url: 'https://hooks.example.com/x', enabled: true, security: true, events },
  });
  const lists = {
    ...sourceLists([], {}),
    '/teams': ['teams', [{ $id: 'crew', ...times, name: 'Crew', prefs: {} }]] as const,
    '/webhooks': [
      'webhooks',
      [
        hook('all', ['databases.*.collections.*.documents.*.create', 'users.*.sessions.*.delete', 'users.*.create']),
        hook('rows', ['databases.*.tables.*.rows.*', 'buckets.*.files.*.create', 'buckets.*.files.*.delete']),
        hook('some', ['databases.blog.collections.posts.documents.*.create', 'buckets.*.files.*']),
        hook('none', ['functions.*']),
      ],
    ] as const,
  };
  const first = await imported(lists, 'hooks');
  assert.deepEqual([first.code, first.counts.webhooks, first.counts.teams], [0, [3, 0, 0, 0], [1, 0, 0, 0]], first.err);
  const kinds = Object.fromEntries(first.unsupported.map(({ kind, count }) => [kind, count]));
  assert.deepEqual([kinds['switched-on webhooks'], kinds.webhooks, kinds['event of webhook some']], [3, 1, 1]);
  const webhooks = async () => {
    const { webhooks: all } = await place.json<{ webhooks: Json[] }>(['webhook', 'list', '--project', 'hooks']);
    return Object.fromEntries(all.map(({ $id, events, enabled }) => [$id, [...(events as string[]), enabled]]));
  };
  const documents = ['documentCreated', 'documentDeleted', 'documentUpdated'];
  assert.deepEqual(await webhooks(), {
    all: ['documentCreated', 'sessionDeleted', false],
    rows: [...documents, 'fileCreated', 'fileDeleted', false],
    some: ['fileCreated', 'fileDeleted', false],
  });
  const team = await place.json<Json>(['team', 'show', 'crew', '--project', 'hooks']);
  assert.equal(team.$createdAt, times.$createdAt);
  await place.json(['webhook', 'update', 'all', '--project', 'hooks', '--enabled', 'on']);
  const second = await imported(lists, 'hooks');
  assert.deepEqual([second.code, second.counts.webhooks], [0, [0, 0, 3, 0]], second.err);
  assert.equal((await webhooks()).all?.at(-1), true);
});

test('a dropped attribute stays without rewriting its documents, and a dry run knows a new one', async () => {
  await newProject('schema');
  const lists = (keys: string[]) =>
    sourceLists([], {
      posts: [
        sourceCollection('posts', keys),
        [sourceDocument('one', Object.fromEntries(keys.map((key) => [key, `${key} of one`])))],
      ],
    });
  assert.equal((await imported(lists(['title', 'old']), 'schema')).code, 0);
  for (const more of [['--dry-run'], [], []]) {
    const { code, counts, unsupported } = await imported(lists(['title']), 'schema', ...more);
    assert.deepEqual([code, counts.documents], [0, [0, 0, 1, 0]]);
    assert.deepEqual(
      unsupported.map(({ kind, reason }) => [kind, /^blog\/posts\/old:/.test(reason)]),
      [
        ['webhooks', false],
        ['attribute only here', true],
      ],
    );
  }
  const dry = await imported(lists(['title', 'new']), 'schema', '--dry-run');
  assert.deepEqual([dry.code, dry.counts.attributes, dry.counts.documents], [5, [1, 0, 1, 0], [0, 1, 0, 0]], dry.err);
  const real = await imported(lists(['title', 'new']), 'schema');
  assert.deepEqual([real.code, real.counts.documents], [0, [0, 1, 0, 0]], real.err);
  const { one } = await posts('schema');
  assert.deepEqual([one?.title, one?.old, one?.new], ['title of one', 'old of one', 'new of one']);
});
