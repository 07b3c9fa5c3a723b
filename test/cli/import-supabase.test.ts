// svc import supabase: a database and its dump become the same users, collections, permissions and files of a project.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createGuardrails, generateSync } from 'otplib';
import pg from 'pg';
import { root } from '../harness/checkout.js';
import { type Installation, install, type Server } from '../harness/cli.js';
import { createDatabase, startPostgres } from '../harness/postgres.js';
import { after } from '../harness/runner.js';

type Json = Record<string, unknown>;
type Report = {
  kinds: { kind: string; read: number; created: number; changed: number; skipped: number; failed: number }[];
  unsupported: { kind: string; count: number; reason: string }[];
};

const recorded = join(root, 'test/cli/supabase');
const dump = join(recorded, 'dump.sql');
const storage = ['--storage', join(recorded, 'storage')];
const began = new Date().toISOString();
let place: Installation;
let server: Server;
let source: { url: string; client: pg.Client; stop(): Promise<void> };
const keys = new Map<string, string>();

before(async () => {
  place = await install();
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off' });
  for (const project of ['dumped', 'live']) {
    await place.json(['project', 'create', project, '--id', project]);
    await place.json(
      ['provider', 'add', 'oauth2', '--project', project, '--key', 'google', '--client-id', 'id', '--secret-stdin'],
      'secret',
    );
    const named = ['--project', project, '--name', 'test', '--scopes', 'all'];
    keys.set(project, (await place.json<{ secret: string }>(['apikey', 'create', ...named])).secret);
  }
  server = await place.serve();
  source = await supabase();
});
after(async () => {
  await source.stop();
  await place.dispose();
});

/** A server with the roles and tables of Supabase. */
async function supabase() {
  const postgres = await startPostgres();
  // Roles are created by a superuser.
  const url = await createDatabase(postgres.url.replace('//svc:', '//postgres:'), 'supabase');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE ROLE anon; CREATE ROLE authenticated; CREATE ROLE service_role BYPASSRLS');
  await client.query(readFileSync(join(recorded, 'setup.sql'), 'utf8'));
  const stop = async () => {
    await client.end();
    await postgres.stop();
  };
  return { url, client, stop };
}

async function imported(from: string, project: string, ...more: string[]) {
  const isUrl = from.startsWith('postgres:');
  const args = ['import', 'supabase', isUrl ? '-' : from, '--project', project, ...more, '--json'];
  const { code, out, err } = await place.svc(args, isUrl ? { input: from } : {});
  return { ...(JSON.parse(out || '{}') as Report), code, err };
}

const countsOf = ({ kinds }: Report) =>
  Object.fromEntries(
    kinds.map(({ kind, created, changed, skipped, failed }) => [kind, [created, changed, skipped, failed]]),
  );

async function send(path: string, method: string, project: string, body?: Json, headers: Record<string, string> = {}) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Service-Project': project, ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
}

async function read(project: string, path: string): Promise<Json> {
  const { status, body } = await send(path, 'GET', project, undefined, { 'X-Service-Key': keys.get(project) ?? '' });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const collections = '/databases/supabase/collections';
const [ada, bob, eve] = [
  'a0000000-0000-4000-8000-000000000001',
  'b0000000-0000-4000-8000-000000000002',
  'e0000000-0000-4000-8000-000000000003',
] as const;
const todo = (number: number) => `c0000000-0000-4000-8000-00000000000${number}`;

/** Everything that an import has written, without what belongs to one project. */
async function content(project: string): Promise<unknown> {
  const own = (value: unknown): unknown => {
    // Rows without times are as old as the import.
    if (typeof value === 'string' && value >= began && value < '2100') return 'now';
    if (Array.isArray(value)) return value.map(own);
    if (typeof value !== 'object' || value === null) return value;
    const kept = Object.entries(value).filter(
      ([name]) => !['$sequence', 'accessedAt', 'passwordUpdate'].includes(name),
    );
    return Object.fromEntries(kept.map(([name, member]) => [name, own(member)]));
  };
  const found = (await read(project, collections)).collections as Json[];
  const documents = [];
  for (const { $id } of found) documents.push((await read(project, `${collections}/${$id}/documents`)).documents);
  const schema = found.map(({ $id, $permissions, documentSecurity, attributes, indexes }) => {
    const parts = [attributes, indexes].map((list) =>
      (list as Json[]).map(({ $createdAt: _, $updatedAt: __, ...part }) => part),
    );
    return { $id, $permissions, documentSecurity, parts };
  });
  const users = ((await read(project, '/users')).users as Json[]).map(
    ({ $updatedAt: _, targets: __, ...user }) => user,
  );
  const files = (await read(project, '/storage/buckets/avatars/files')).files;
  return own({ schema, documents, users, files });
}

test('a dump and the database give the same content, and another run changes nothing', async () => {
  const dry = await imported(dump, 'dumped', ...storage, '--dry-run');
  assert.deepEqual(countsOf(dry).users, [3, 0, 0, 0], dry.err);
  const dumped = await imported(dump, 'dumped', ...storage);
  const live = await imported(source.url, 'live', ...storage);
  const counts = countsOf(dumped);
  const expected = { users: [3, 0, 0, 0], documents: [9, 0, 0, 1], files: [1, 0, 0, 1], collections: [5, 0, 0, 0] };
  const { users, documents, files, collections: made } = counts;
  assert.deepEqual({ users, documents, files, collections: made }, expected, dumped.err);
  assert.deepEqual([dumped.code, live.code], [1, 1]);
  assert.match(dumped.err, /price has the number NaN/);
  assert.match(dumped.err, /lost\.txt is missing/);
  assert.deepEqual(countsOf(live), counts, live.err);
  assert.deepEqual(live.unsupported, dumped.unsupported);
  assert.deepEqual(await content('live'), await content('dumped'));
  for (const [from, project] of [
    [dump, 'dumped'],
    [source.url, 'live'],
  ] as const) {
    const again = await imported(from, project, ...storage);
    for (const { kind, created, changed } of again.kinds) assert.deepEqual([created, changed], [0, 0], kind);
  }
});

test('rows have their values, ids, times and relationships', async () => {
  const first = await read('live', `${collections}/todos/documents/${todo(1)}?populate=list_id`);
  const { user_id, task, Done_, rank, weight, ratio, due, at, extra, feeling, tags, marks, list_id } = first;
  assert.deepEqual(
    { user_id, task, Done_, rank, weight, ratio, due, at, extra, feeling, tags, marks },
    {
      ...{ user_id: ada, task: 'Paint', Done_: true, rank: 3, weight: 1.5, ratio: 0.1 },
      ...{ due: '2024-06-01T00:00:00.000+00:00', at: '2024-06-01T12:00:00.000+00:00', extra: '{"deep": [1, null]}' },
      ...{ feeling: "it's loud", tags: ['plain', 'two, "three"', ''], marks: [1, 2] },
    },
  );
  assert.deepEqual(
    [first.$createdAt, first.$updatedAt],
    ['2024-05-31T22:00:00.000+00:00', '2024-06-02T00:00:00.000+00:00'],
  );
  assert.deepEqual([(list_id as Json).$id, (list_id as Json).title], ['1', 'House 😀']);
  const second = await read('live', `${collections}/todos/documents/${todo(2)}`);
  assert.deepEqual([second.list_id, second.parent], ['9007199254740993', todo(1)]);
  const profile = await read('live', `${collections}/profiles/documents/${ada}`);
  assert.equal(profile.about, 'line one\nline\ttwo \\ end');
  const file = await fetch(`${server.url}/storage/buckets/avatars/files/d0000000-0000-4000-8000-000000000001/view`, {
    headers: { 'X-Service-Project': 'live', 'X-Service-Key': keys.get('live') ?? '' },
  });
  assert.equal(await file.text(), 'face');
});

test('users log in with their passwords and see what the policies allow', async () => {
  const logIn = async (name: string) => {
    const given = { email: `${name}@base.example`, password: `${name} has a password` };
    const { status, body } = await send('/account/sessions/email', 'POST', 'live', given);
    assert.equal(status, 201, JSON.stringify(body));
    return { 'X-Service-Session': String(body.secret) };
  };
  const [asAda, asEve] = [await logIn('ada'), await logIn('eve')];
  const account = (await send('/account', 'GET', 'live', undefined, asAda)).body;
  assert.deepEqual(
    [account.name, account.emailVerification, account.prefs],
    ['Ada \\ "Tab"', true, { theme: 'dark', full_name: 'Ada \\ "Tab"' }],
  );
  // bob has an authenticator app.
  const begun = await send('/account/sessions/email', 'POST', 'live', {
    ...{ email: 'bob@base.example', password: 'bob has a password' },
  });
  assert.equal(begun.body.type, 'user_more_factors_required');
  const pending = { 'X-Service-Session': String((begun.body.pendingSession as Json).secret) };
  const challenge = await send('/account/mfa/challenges', 'POST', 'live', { factor: 'totp' }, pending);
  const otp = generateSync({
    ...{ secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', guardrails: createGuardrails({ MIN_SECRET_BYTES: 1 }) },
  });
  const proof = { challengeId: challenge.body.$id, otp };
  const proved = await send('/account/mfa/challenges', 'PUT', 'live', proof, pending);
  assert.equal(proved.status, 200, JSON.stringify(proved.body));
  const asBob = { 'X-Service-Session': String(proved.body.secret) };

  const list = async (collection: string, as: Record<string, string>) => {
    const { status, body } = await send(`${collections}/${collection}/documents`, 'GET', 'live', undefined, as);
    return status === 200 ? (body.documents as Json[]).map(({ $id }) => $id).sort() : status;
  };
  assert.deepEqual(await list('profiles', asEve), [ada, bob]);
  assert.deepEqual(await list('profiles', {}), []);
  assert.deepEqual(await list('lists', asEve), ['1', '9007199254740993']);
  assert.equal(await list('lists', {}), 401);
  assert.deepEqual(await list('todos', asAda), [todo(1)]);
  assert.deepEqual(await list('todos', asBob), [todo(2)]);
  assert.deepEqual(await list('todos', asEve), []);
  for (const collection of ['members', 'open']) assert.equal(await list(collection, asAda), 401);
  const change = (collection: string, id: string, as: Record<string, string>, data: Json) =>
    send(`${collections}/${collection}/documents/${id}`, 'PATCH', 'live', { data }, as).then(({ status }) => status);
  assert.equal(await change('profiles', ada, asEve, { about: 'x' }), 401);
  assert.equal(await change('profiles', ada, asAda, { about: 'x' }), 200);
  assert.equal(await change('lists', '1', asAda, { title: 'x' }), 401);
  const creation = (collection: string, data: Json) =>
    send(`${collections}/${collection}/documents`, 'POST', 'live', { documentId: 'unique()', data }, asAda);
  assert.equal((await creation('lists', { title: 'new' })).status, 201);
  assert.equal((await creation('todos', { task: 'new', user_id: eve })).status, 401);
  const linked = (await read('live', '/users/identities')).identities as Json[];
  assert.deepEqual(
    linked.map(({ userId, provider, providerUid }) => [userId, provider, providerUid]),
    [[eve, 'google', '1234567890']],
  );
});

test('a second run brings changes of the source, of chosen tables only', async () => {
  const { client, url } = source;
  await client.query(`UPDATE todos SET task = 'Changed', updated_at = '2027-01-01' WHERE rank IS NULL`);
  await client.query(`UPDATE lists SET title = 'Changed' WHERE id = 1`);
  await client.query(`INSERT INTO profiles VALUES ('${eve}', 'eve')`);
  const tables = ['--tables', 'todos,profiles,lists'];
  const some = await imported(url, 'live', ...tables, '--resume');
  // Documents that exist are not compared with --resume.
  assert.deepEqual(countsOf(some).documents, [1, 0, 6, 0], some.err);
  const all = await imported(url, 'live', ...tables);
  // A profile was changed here by its user.
  assert.deepEqual(countsOf(all).documents, [0, 3, 4, 0], all.err);
  assert.ok(all.unsupported.some(({ kind, reason }) => kind === 'table' && /open: it was not chosen/.test(reason)));
  assert.ok(all.unsupported.some(({ kind, count }) => kind === 'file' && count === 2));
  assert.equal((await read('live', `${collections}/todos/documents/${todo(2)}`)).task, 'Changed');
});

test('restrictive policies, mixed expressions and privileges never give more than the source', async () => {
  const { client, url } = source;
  const policies = [
    ['p1', 'FOR SELECT TO anon USING (true)', ['read("guests")']],
    ['p2', 'FOR SELECT USING ((SELECT auth.uid()) IS NOT NULL)', ['read("users")']],
    ['p3', "FOR SELECT USING (auth.uid() = owner OR note LIKE 'x OR y')", []],
    ['p4', 'FOR SELECT USING (auth.uid() = owner AND true)', []],
    ['p5', 'FOR SELECT USING ((auth.uid())::text = (owner)::text)', []],
    ['p6', 'FOR SELECT USING (NOT (auth.uid() = owner))', []],
    ['p7', 'FOR SELECT USING (EXISTS (SELECT 1 FROM public.lists))', []],
    ['p8', 'FOR UPDATE USING (true) WITH CHECK (auth.uid() = owner)', []],
    ['p9', 'AS RESTRICTIVE FOR SELECT USING (true)', []],
    ['p10', 'FOR SELECT TO service_role USING (true)', []],
    ['p11', 'FOR SELECT TO authenticated USING (true)', []],
  ] as const;
  const owned = ['p3', 'p4', 'p5', 'p8'];
  for (const [name, policy] of policies)
    await client.query(
      `CREATE TABLE ${name} (id text PRIMARY KEY, owner uuid, note text); INSERT INTO ${name} VALUES ('one', '${ada}');
      ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; GRANT ALL ON ${name} TO anon, authenticated; CREATE POLICY one ON ${name} ${policy}`,
    );
  await client.query('REVOKE ALL ON p11 FROM authenticated; CREATE POLICY all_of_it ON p9 USING (true)');
  await place.json(['project', 'create', 'policies', '--id', 'policies']);
  const named = ['--project', 'policies', '--name', 'test', '--scopes', 'all'];
  keys.set('policies', (await place.json<{ secret: string }>(['apikey', 'create', ...named])).secret);
  const made = await imported(url, 'policies', '--tables', policies.map(([name]) => name).join(','));
  assert.equal(made.code, 0, made.err);
  for (const [name, policy, permissions] of policies) {
    const collection = await read('policies', `${collections}/${name}`);
    const rest = name === 'p9' ? ['create("any")', 'delete("any")', 'update("any")'] : [];
    assert.deepEqual(collection.$permissions, [...permissions, ...rest], policy);
    const { $permissions } = await read('policies', `${collections}/${name}/documents/one`);
    const action = name === 'p8' ? 'update' : 'read';
    assert.deepEqual($permissions, owned.includes(name) ? [`${action}("user:${ada}")`] : [], policy);
  }
});

test('other files are refused with the next step', async () => {
  const files: [name: string, content: string | Buffer, code: number, message: RegExp][] = [
    ['custom.dump', Buffer.from('PGDMP\x01\x0e\x00'), 2, /pg_restore -f dump\.sql custom\.dump/],
    ['packed.sql.gz', Buffer.from([0x1f, 0x8b, 8, 0]), 2, /gunzip/],
    [
      'inserts.sql',
      "CREATE TABLE public.t (\n    id text NOT NULL\n);\nINSERT INTO public.t VALUES ('a');\n",
      2,
      /--inserts/,
    ],
    ['empty.sql', 'SELECT 1;\n', 2, /no tables/],
  ];
  for (const [name, text, code, message] of files) {
    writeFileSync(join(place.dir, name), text);
    const found = await imported(name, 'live');
    assert.equal(found.code, code, found.err);
    assert.match(found.err, message);
  }
  assert.match((await imported(dump, 'live', '--tables', 'unknown')).err, /no table unknown.*lists, members/s);
  assert.equal((await imported('absent.sql', 'live')).code, 3);
  const { code, err } = await place.svc(['import', 'supabase', source.url, '--project', 'live']);
  assert.deepEqual([code, err.includes('- and the URL on stdin')], [2, true], err);
  const away = await imported('postgres://nobody:secret-word@127.0.0.1:1/x', 'live');
  assert.deepEqual([away.code, away.err.includes('secret-word')], [6, false], away.err);
});

/** A dump of the tables of auth and of one table, with statements after its rows. */
const dumpOf = (users: readonly string[], statements: readonly string[] = []) =>
  [
    '--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;',
    'CREATE TABLE auth.users (\n    id uuid NOT NULL,\n    email text,\n    banned_until timestamp with time zone,\n    deleted_at timestamp with time zone\n);',
    'CREATE TABLE public.pub (\n    id text NOT NULL\n);',
    `COPY auth.users (id, email, banned_until, deleted_at) FROM stdin;\n${users.map((row) => `${row}\n`).join('')}\\.`,
    'COPY public.pub (id) FROM stdin;\none\n\\.',
    'ALTER TABLE ONLY public.pub\n    ADD CONSTRAINT pub_pkey PRIMARY KEY (id);',
    'ALTER TABLE public.pub ENABLE ROW LEVEL SECURITY;\nGRANT SELECT ON TABLE public.pub TO anon;',
    ...statements,
    '--\n-- PostgreSQL database dump complete\n--\n',
  ].join('\n\n');

test('blocks without an end and deleted users are carried over', async () => {
  await place.json(['project', 'create', 'blocks', '--id', 'blocks']);
  const named = ['--project', 'blocks', '--name', 'test', '--scopes', 'all'];
  keys.set('blocks', (await place.json<{ secret: string }>(['apikey', 'create', ...named])).secret);
  const statuses = async () => {
    const users = (await read('blocks', '/users')).users as Json[];
    return Object.fromEntries(users.map(({ $id, status }) => [$id, status]));
  };
  const rows = (until: string, deleted: string) => [
    `${ada}\tada@base.example\t${until}\t\\N`,
    `${bob}\tbob@base.example\t-infinity\t\\N`,
    `${eve}\t${deleted === '\\N' ? 'eve@base.example' : 'hash'}\t\\N\t${deleted}`,
  ];
  for (const [until, deleted, expected] of [
    ['2999-01-01 00:00:00+00', '\\N', { [ada]: false, [bob]: true, [eve]: true }],
    ['infinity', '2025-01-01 00:00:00+00', { [ada]: false, [bob]: true, [eve]: false }],
    ['\\N', '2025-01-01 00:00:00+00', { [ada]: true, [bob]: true, [eve]: false }],
  ] as const) {
    writeFileSync(join(place.dir, 'blocks.sql'), dumpOf(rows(until, deleted)));
    const { code, err, kinds } = await imported('blocks.sql', 'blocks');
    assert.deepEqual([code, kinds.find(({ kind }) => kind === 'users')?.failed], [0, 0], err);
    assert.deepEqual(await statuses(), expected);
  }
  const csv = `id,email,encrypted_password,banned_until\n${ada},ada@base.example,,infinity\n`;
  writeFileSync(join(place.dir, 'blocks.csv'), csv);
  await place.json(['user', 'import', 'blocks.csv', '--project', 'blocks', '--update']);
  assert.equal((await statuses())[ada], false);
});

test('a dump that was cut is refused, also in the middle of a file with several', async () => {
  const policies = [
    'CREATE POLICY one ON public.pub USING (true);',
    'CREATE POLICY two ON public.pub AS RESTRICTIVE USING (false);',
  ];
  const whole = dumpOf([], policies);
  const cutAt = (text: string) => whole.slice(0, whole.indexOf(text));
  const plain = (dump: string) => `${dump.replaceAll(/^--.*\n/gm, '')}RESET ALL;\n`;
  const body = 'CREATE FUNCTION public.f() RETURNS void\n    LANGUAGE sql\n    AS $$\nSET statement_timeout = 0;\n$$;';
  for (const [content, problem] of [
    [cutAt('CREATE POLICY two'), /The dump ends without/],
    [cutAt('\n\\.'), /within the rows/],
    [cutAt('CREATE POLICY two') + whole, /Dump 1 of 2/],
    [whole + cutAt('CREATE POLICY two'), /Dump 2 of 2/],
    [cutAt('CREATE POLICY two').replaceAll(/^--.*\n/gm, '') + plain(whole), /Dump 1 of 2/],
    [whole, undefined],
    [plain(whole) + plain(whole), undefined],
    [dumpOf([], [body]), undefined],
  ] as const) {
    writeFileSync(join(place.dir, 'cut.sql'), content);
    const { code, err } = await imported('cut.sql', 'live', '--dry-run', '--tables', 'pub');
    assert.equal(code === 2, problem !== undefined, err);
    if (problem !== undefined) assert.match(err, problem);
  }
});

test('keys that are no ids or look alike, and partitioned tables', async () => {
  const { client, url } = source;
  await client.query(`CREATE TABLE votes (grp text, item text, who text, PRIMARY KEY (grp, item));
    INSERT INTO votes VALUES ('a_b', 'c', 'first'), ('a', 'b_c', 'second'), ('x', 'y', 'third');
    CREATE TABLE slugs (slug text PRIMARY KEY, title text); INSERT INTO slugs VALUES ('a/b c', 'Odd'), ('plain', 'Plain');
    CREATE TABLE notes (id int PRIMARY KEY, slug text REFERENCES slugs); INSERT INTO notes VALUES (1, 'a/b c'), (2, 'plain');
    CREATE TABLE ev (id int, at date, note text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE TABLE ev_24 PARTITION OF ev FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    CREATE TABLE ev_25 PARTITION OF ev FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
    INSERT INTO ev VALUES (1, '2024-05-05', 'one'), (2, '2025-05-05', 'a longer note');
    ALTER TABLE ev ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON ev FOR SELECT USING (true); GRANT SELECT ON ev TO anon, authenticated`);
  writeFileSync(
    join(place.dir, 'ev.sql'),
    `-- PostgreSQL database dump
CREATE TABLE public.ev (
    id integer NOT NULL,
    at date NOT NULL,
    note text
)
PARTITION BY RANGE (at);
CREATE TABLE public.ev_24 (
    id integer NOT NULL,
    at date NOT NULL,
    note text
);
CREATE TABLE public.ev_25 (
    id integer NOT NULL,
    at date NOT NULL,
    note text
);
ALTER TABLE ONLY public.ev ATTACH PARTITION public.ev_24 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
ALTER TABLE ONLY public.ev ATTACH PARTITION public.ev_25 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
COPY public.ev_24 (id, at, note) FROM stdin;
1\t2024-05-05\tone
\\.
COPY public.ev_25 (id, at, note) FROM stdin;
2\t2025-05-05\ta longer note
\\.
ALTER TABLE ONLY public.ev
    ADD CONSTRAINT ev_pkey PRIMARY KEY (id, at);
ALTER TABLE public.ev ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON public.ev FOR SELECT USING (true);
GRANT SELECT ON TABLE public.ev TO anon;
GRANT SELECT ON TABLE public.ev TO authenticated;
-- PostgreSQL database dump complete
`,
  );
  for (const [project, from] of [
    ['keyed', url],
    ['parts', 'ev.sql'],
  ] as const) {
    await place.json(['project', 'create', project, '--id', project]);
    const named = ['--project', project, '--name', 'test', '--scopes', 'all'];
    keys.set(project, (await place.json<{ secret: string }>(['apikey', 'create', ...named])).secret);
    const tables = project === 'keyed' ? 'votes,slugs,notes,ev' : 'ev';
    for (const run of ['first', 'second']) {
      const { code, err, kinds, unsupported } = await imported(from, project, '--tables', tables);
      assert.equal(code, 0, err);
      const [created, total] = [run === 'first', project === 'keyed' ? 9 : 2];
      const documents = kinds.find(({ kind }) => kind === 'documents');
      assert.deepEqual([documents?.created, documents?.changed, documents?.read], [created ? total : 0, 0, total]);
      assert.equal(unsupported.filter(({ kind }) => kind === 'id').length, project === 'keyed' ? 1 : 0);
    }
    const ev = await read(project, `${collections}/ev`);
    assert.deepEqual(ev.$permissions, ['read("any")']);
    const notes = (await read(project, `${collections}/ev/documents`)).documents as Json[];
    assert.deepEqual(
      notes.map(({ $id, note }) => [$id, note]),
      [
        ['1_2024-05-05', 'one'],
        ['2_2025-05-05', 'a longer note'],
      ],
    );
  }
  const list = async (name: string) => (await read('keyed', `${collections}/${name}/documents`)).documents as Json[];
  const votes = Object.fromEntries((await list('votes')).map(({ who, $id }) => [who, $id]));
  assert.equal(votes.third, 'x_y');
  assert.equal(new Set(Object.values(votes)).size, 3);
  const slugs = Object.fromEntries((await list('slugs')).map(({ slug, $id }) => [slug, $id]));
  assert.equal(slugs.plain, 'plain');
  assert.deepEqual(
    (await list('notes')).map(({ slug }) => slug),
    [slugs['a/b c'], 'plain'],
  );
});

test('a dump of the command line of Supabase has users without the table, and one without users says so', async () => {
  for (const id of ['rows-only', 'no-users']) await place.json(['project', 'create', id, '--id', id]);
  const whole = dumpOf([`${ada}\tada@base.example\t\\N\t\\N`]);
  const table = /CREATE TABLE auth\.users[^;]*;/;
  writeFileSync(join(place.dir, 'rows.sql'), whole.replace(table, ''));
  const made = await imported('rows.sql', 'rows-only');
  assert.deepEqual([made.code, countsOf(made).users, countsOf(made).documents], [0, [1, 0, 0, 0], [1, 0, 0, 0]]);
  writeFileSync(
    join(place.dir, 'none.sql'),
    whole.replace(table, '').replace(/COPY auth[^.]*\.users[\s\S]*?\n\\\./, ''),
  );
  const none = await imported('none.sql', 'no-users');
  assert.deepEqual([none.code, none.unsupported.find(({ kind }) => kind === 'users')?.count], [0, 1], none.err);
  writeFileSync(join(place.dir, 'late.sql'), whole.replace(/CREATE TABLE public[^;]*;/, ''));
  const late = await imported('late.sql', 'no-users');
  assert.deepEqual([late.code, /rows of public\.pub without its CREATE TABLE/.test(late.err)], [2, true], late.err);
});

test('constant defaults of columns become defaults of attributes', async () => {
  await source.client.query(`CREATE TYPE colour AS ENUM ('red', 'blue');
    CREATE TABLE defaults (id int PRIMARY KEY, state text DEFAULT 'it''s open' NOT NULL, done boolean DEFAULT false, n int DEFAULT '-5',
      f numeric DEFAULT 1.5, c colour DEFAULT 'blue', at timestamptz DEFAULT now(), tags text[] DEFAULT '{}', none text DEFAULT NULL);
    INSERT INTO defaults (id, done) VALUES (1, NULL)`);
  await place.json(['project', 'create', 'defaults', '--id', 'defaults']);
  const named = ['--project', 'defaults', '--name', 'test', '--scopes', 'all'];
  keys.set('defaults', (await place.json<{ secret: string }>(['apikey', 'create', ...named])).secret);
  for (const changes of [1, 0]) {
    const { code, err, kinds, unsupported } = await imported(source.url, 'defaults', '--tables', 'defaults');
    assert.equal(code, 0, err);
    assert.equal(kinds.reduce((sum, { created, changed }) => sum + created + changed, 0) > 0, changes > 0);
    const left = unsupported.filter(({ kind }) => kind === 'default').map(({ reason }) => reason);
    assert.deepEqual(left.map((reason) => /column (\w+)/.exec(reason)?.[1]).sort(), ['at', 'tags']);
  }
  const { attributes } = await read('defaults', `${collections}/defaults`);
  const found = Object.fromEntries((attributes as Json[]).map((one) => [one.key, one.default]));
  assert.deepEqual(found, {
    ...{ state: "it's open", done: false, n: -5, f: 1.5, c: 'blue', at: null, tags: null, none: null },
  });
  const one = await read('defaults', `${collections}/defaults/documents/1`);
  assert.deepEqual([one.state, one.done, one.n], ["it's open", null, -5]);
});
