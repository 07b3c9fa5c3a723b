// Who is shown a file: every kind of caller by every way to it, for each combination of permissions of bucket and file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { aFileBackend, upload } from './setup.js';

const target = await startAppliance();
const { key, bucket } = await aFileBackend(target);
const picture = await sharp({ create: { width: 4, height: 3, channels: 3, background: '#204060' } })
  .png()
  .toBuffer();

const [owner, member, labelled, other] = await Promise.all([1, 2, 3, 4].map(() => aLoggedInUser(target)));
assert.ok(owner && member && labelled && other);
(await key.post('/teams', { teamId: 'crew', name: 'Crew' })).expect(201);
(await key.post('/teams/crew/memberships', { userId: member.id, roles: ['mate'] })).expect(201);
(await key.put(`/users/${labelled.id}/labels`, { labels: ['vip'] })).expect(200);

const callers = {
  guest: createClient(target),
  owner: owner.client,
  member: member.client,
  labelled: labelled.client,
  other: other.client,
  key,
  readingKey: (await aServerKey(target, { scopes: ['files.read'] })).client,
  writingKey: (await aServerKey(target, { scopes: ['files.write'] })).client,
} as const;
type Caller = keyof typeof callers;
const everybody = ['guest', 'owner', 'member', 'labelled', 'other'] as const;
const users = everybody.slice(1);
const keys: readonly Caller[] = ['key', 'readingKey'];
const mine = ['read', 'update', 'delete'].map((action) => `${action}("user:${owner.id}")`);

interface Row {
  readonly bucket: readonly string[];
  readonly fileSecurity: boolean;
  readonly file: readonly string[];
  /** Who is shown the file, besides the server keys that may read files. */
  readonly shown: readonly Caller[];
}
const rows: readonly Row[] = [
  // Without file security the permissions of a file mean nothing, not even to who has uploaded it.
  { bucket: [], fileSecurity: false, file: ['read("any")', ...mine], shown: [] },
  { bucket: ['read("any")'], fileSecurity: false, file: [], shown: everybody },
  { bucket: ['read("guests")'], fileSecurity: false, file: [], shown: ['guest'] },
  { bucket: ['read("users")'], fileSecurity: false, file: [], shown: users },
  { bucket: ['read("team:crew")'], fileSecurity: false, file: [], shown: ['member'] },
  { bucket: ['read("team:crew/owner")'], fileSecurity: false, file: [], shown: [] },
  // With it either of both is enough.
  { bucket: [], fileSecurity: true, file: [], shown: [] },
  { bucket: [], fileSecurity: true, file: mine, shown: ['owner'] },
  { bucket: [], fileSecurity: true, file: ['read("any")'], shown: everybody },
  { bucket: [], fileSecurity: true, file: ['read("guests")'], shown: ['guest'] },
  { bucket: [], fileSecurity: true, file: ['read("team:crew/mate")'], shown: ['member'] },
  { bucket: [], fileSecurity: true, file: ['read("team:crew/owner")'], shown: [] },
  { bucket: [], fileSecurity: true, file: ['read("label:vip")'], shown: ['labelled'] },
  { bucket: [], fileSecurity: true, file: ['read("users/unverified")'], shown: users },
  { bucket: [], fileSecurity: true, file: ['read("users/verified")'], shown: [] },
  { bucket: ['read("users")'], fileSecurity: true, file: [], shown: users },
  { bucket: ['read("label:vip")'], fileSecurity: true, file: mine, shown: ['owner', 'labelled'] },
  // Rights to do other things show nothing.
  {
    bucket: ['create("any")', 'update("any")', 'delete("any")'],
    fileSecurity: true,
    file: ['update("any")'],
    shown: [],
  },
];

/** How each way answers a caller: 200, or the refusal. */
async function seen(client: Client, files: string, secret: string): Promise<Record<string, unknown>> {
  const one = `${files}/one`;
  const list = await client.get(files);
  const status = async (path: string) => {
    const answer = await client.get(path);
    return answer.status === 200 ? 200 : answer.body.type;
  };
  return {
    get: await status(one),
    list: list.status === 200 ? `${list.list('files').length} of ${list.body.total}` : list.body.type,
    view: await status(`${one}/view`),
    download: await status(`${one}/download`),
    preview: await status(`${one}/preview?width=2`),
    // A token opens the bytes to everybody, and what is known of the file to nobody.
    getByToken: await status(`${one}?token=${secret}`),
    viewByToken: await status(`${one}/view?token=${secret}`),
    downloadByToken: await status(`${one}/download?token=${secret}`),
    previewByToken: await status(`${one}/preview?width=2&token=${secret}`),
    viewByOtherToken: await status(`${one}/view?token=${secret.slice(1)}`),
  };
}

const bytes = ['view', 'download', 'preview', 'viewByOtherToken'];
const byToken = ['viewByToken', 'downloadByToken', 'previewByToken'];
const ways = ['get', 'getByToken', ...bytes];
const all = (names: readonly string[], answer: unknown) => Object.fromEntries(names.map((name) => [name, answer]));

/** What a caller is to be answered. */
function expectedOf(caller: Caller, { bucket: ofBucket, fileSecurity, shown }: Row): Record<string, unknown> {
  if (caller === 'writingKey') return all([...ways, ...byToken, 'list'], 'general_unauthorized_scope');
  const opened = all(byToken, 200);
  if (shown.includes(caller) || keys.includes(caller)) return { ...all(ways, 200), ...opened, list: '1 of 1' };
  const isListed = fileSecurity || ofBucket.length > 0;
  const list = fileSecurity && isListed ? '0 of 0' : 'user_unauthorized';
  return { ...all(ways, 'storage_file_not_found'), ...opened, list };
}

for (const row of rows) {
  test(`bucket ${row.bucket.join(' ') || '–'}, ${row.fileSecurity ? `file ${row.file.join(' ') || '–'}` : 'no file security'}`, async () => {
    const files = await bucket({ permissions: row.bucket, fileSecurity: row.fileSecurity });
    (await upload(key, files, picture, { fileId: 'one', name: 'one.png', permissions: row.file })).expect(201);
    const tokens = `/tokens/buckets/${files.split('/')[3]}/files/one`;
    const secret = (await key.post(tokens, {})).expect(201).string('secret');
    const asked = (Object.entries(callers) as [Caller, Client][]).map(async ([caller, client]) =>
      assert.deepEqual(await seen(client, files, secret), expectedOf(caller, row), caller),
    );
    await Promise.all(asked);
  });
}

test('tokens are created and listed by callers who may change and read the file', async () => {
  const files = await bucket({ fileSecurity: true });
  const permissions = [...mine, 'read("team:crew")', 'update("label:vip")'];
  (await upload(key, files, picture, { fileId: 'one', name: 'one.png', permissions })).expect(201);
  const tokens = `/tokens/buckets/${files.split('/')[3]}/files/one`;
  const tokenKey = (await aServerKey(target, { scopes: ['tokens.write', 'tokens.read'] })).client;
  const expected: [Client, number][] = [
    [callers.guest, 401],
    [callers.other, 404],
    // May read and not change; may change and not read.
    [callers.member, 401],
    [callers.labelled, 401],
    [callers.owner, 201],
    [tokenKey, 201],
    [callers.readingKey, 401],
    [callers.writingKey, 401],
  ];
  for (const [at, [client, status]] of expected.entries()) {
    assert.equal((await client.post(tokens, {})).status, status, `caller ${at} creates`);
    assert.equal((await client.get(tokens)).status, status === 201 ? 200 : status, `caller ${at} lists`);
  }
});
