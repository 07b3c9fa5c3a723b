// Who may do what with files, and what a browser is told of them.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { aFileBackend, someBytes, upload } from './setup.js';

const target = await startAppliance();
const { key, secret: keySecret, bucket } = await aFileBackend(target);
const guest = createClient(target);
let ada: LoggedInUser;
let bob: LoggedInUser;

before(async () => {
  ada = await aLoggedInUser(target);
  bob = await aLoggedInUser(target);
});

test('creating, changing and deleting need their own rights, and callers cannot grant foreign roles', async () => {
  const files = await bucket({ permissions: ['create("users")'], fileSecurity: true });
  (await upload(guest, files, 'text')).refused(401, 'user_unauthorized');
  const foreign = await upload(ada.client, files, 'text', { permissions: [`read("user:${bob.id}")`] });
  foreign.refused(401, 'user_unauthorized');
  const made = (await upload(ada.client, files, 'text', { fileId: 'mine' })).expect(201);
  assert.deepEqual(
    made.body.$permissions,
    ['read', 'update', 'delete'].map((action) => `${action}("user:${ada.id}")`),
  );
  (await upload(bob.client, files, 'text', { fileId: 'mine' })).refused(409, 'storage_file_already_exists');
  const path = `${files}/mine`;
  (await bob.client.put(path, { name: 'b' })).refused(404, 'storage_file_not_found');
  (await bob.client.delete(path)).refused(404, 'storage_file_not_found');
  (await ada.client.put(path, { permissions: ['read("users")', `delete("user:${ada.id}")`] })).expect(200);
  (await bob.client.put(path, { name: 'b' })).refused(401, 'user_unauthorized');
  (await bob.client.delete(path)).refused(401, 'user_unauthorized');
  (await ada.client.put(path, { name: 'b' })).refused(401, 'user_unauthorized');
  (await ada.client.delete(path)).expect(204);
  (await key.get(path)).refused(404, 'storage_file_not_found');
});

test('a disabled bucket exists for server keys only, and a deleted one leaves nothing to one of the same id', async () => {
  const files = await bucket({ bucketId: 'again', permissions: ['read("any")'], enabled: false });
  (await upload(key, files, 'text', { fileId: 'one' })).expect(201);
  (await guest.get(`${files}/one/view`)).refused(404, 'storage_bucket_not_found');
  (await key.get(`${files}/one/view`)).expect(200);
  (await key.delete('/storage/buckets/again')).expect(204);
  (await key.get(`${files}/one`)).refused(404, 'storage_bucket_not_found');
  await bucket({ bucketId: 'again', permissions: ['read("any")'] });
  (await guest.get(`${files}/one`)).refused(404, 'storage_file_not_found');
  assert.equal((await key.get(files)).body.total, 0);
});

test('a token opens the bytes of one file until it ends', async () => {
  const files = await bucket();
  for (const fileId of ['one', 'two']) (await upload(key, files, 'text', { fileId })).expect(201);
  const tokens = `/tokens/buckets/${files.split('/')[3]}/files/one`;
  (await ada.client.post(tokens, {})).refused(404, 'storage_file_not_found');
  const expire = new Date(target.clock.now() + 60_000).toISOString();
  const token = (await key.post(tokens, { expire })).expect(201);
  const secret = token.string('secret');
  (await guest.get(`${files}/one/view?token=${secret}`)).expect(200);
  (await guest.get(`${files}/one/download?token=${secret}`)).expect(200);
  (await guest.get(`${files}/two/view?token=${secret}`)).refused(404, 'storage_file_not_found');
  (await guest.get(`${files}/one/view?token=${secret.slice(0, -1)}`)).refused(404, 'storage_file_not_found');
  (await guest.get(`${files}/one?token=${secret}`)).refused(404, 'storage_file_not_found');
  target.clock.advance(61_000);
  (await guest.get(`${files}/one/view?token=${secret}`)).refused(401, 'token_expired');
  (await key.patch(`/tokens/${token.body.$id}`, {})).expect(200);
  (await guest.get(`${files}/one/view?token=${secret}`)).expect(200);
  (await ada.client.get(`/tokens/${token.body.$id}`)).refused(404, 'token_not_found');
  (await key.delete(`/tokens/${token.body.$id}`)).expect(204);
  (await guest.get(`${files}/one/view?token=${secret}`)).refused(404, 'storage_file_not_found');
  const noon = '2099-01-31T12:00:00.000+00:00';
  for (const form of ['2099-01-31T12:00Z', '2099-01-31T14:00:00+0200', '2099-01-31 12:00:00', '2099-01-31T12:00'])
    assert.equal((await key.post(tokens, { expire: form })).expect(201).body.expire, noon, form);
  assert.equal((await key.post(tokens, { expire: '2099-01-31' })).expect(201).body.expire, noon.replace('12', '00'));
  for (const wrong of ['2099-02-30', 'tomorrow', '', 4073544000])
    (await key.post(tokens, { expire: wrong })).refused(400, 'general_argument_invalid');
  (await key.post(tokens, { expire: '2000-01-01T00:00:00Z' })).refused(400, 'general_argument_invalid');
});

test('a token opens no file of the same id in another bucket', async () => {
  const [files, others] = [await bucket(), await bucket()];
  for (const of of [files, others]) (await upload(key, of, 'text', { fileId: 'same' })).expect(201);
  const secret = (await key.post(`/tokens/buckets/${files.split('/')[3]}/files/same`, {})).expect(201).string('secret');
  (await guest.get(`${files}/same/view?token=${secret}`)).expect(200);
  for (const way of ['view', 'download', 'preview'])
    (await guest.get(`${others}/same/${way}?token=${secret}`)).refused(404, 'storage_file_not_found');
});

test('a token of a user opens the file while the user may share it', async () => {
  const files = await bucket({ fileSecurity: true });
  (await upload(key, files, 'text', { fileId: 'one' })).expect(201);
  const eve = await aLoggedInUser(target);
  (await key.post('/teams', { teamId: 'sharers', name: 'Sharers' })).expect(201);
  const join = async () =>
    (await key.post('/teams/sharers/memberships', { userId: eve.id, roles: [] })).expect(201).string('$id');
  const permit = async (...permissions: string[]) => (await key.put(`${files}/one`, { permissions })).expect(200);
  await permit('read("team:sharers")', 'update("team:sharers")');
  let membership = await join();
  const tokens = `/tokens/buckets/${files.split('/')[3]}/files/one`;
  const [made, ofKey] = [
    (await eve.client.post(tokens, {})).expect(201).string('secret'),
    (await key.post(tokens, {})).expect(201).string('secret'),
  ];
  const opens = async (isOpen: boolean) => {
    const answer = await guest.get(`${files}/one/view?token=${made}`);
    if (isOpen) answer.expect(200);
    else answer.refused(404, 'storage_file_not_found');
    (await guest.get(`${files}/one/view?token=${ofKey}`)).expect(200);
  };
  await opens(true);
  (await key.delete(`/teams/sharers/memberships/${membership}`)).expect(204);
  await opens(false);
  membership = await join();
  await opens(true);
  await permit('read("team:sharers")');
  await opens(false);
  await permit('read("team:sharers")', 'update("team:sharers")');
  for (const status of [false, true]) {
    (await key.patch(`/users/${eve.id}/status`, { status })).expect(200);
    await opens(status);
  }
  await runSql(target, 'update file_tokens set user_id = null where user_id = ?', [eve.id]);
  (await key.delete(`/teams/sharers/memberships/${membership}`)).expect(204);
  await opens(true);
  await runSql(target, 'update file_tokens set user_id = ? where id = ?', [eve.id, made.split('.')[0] ?? '']);
  assert.equal((await key.get(tokens)).body.total, 2);
  (await key.delete(`/users/${eve.id}`)).expect(204);
  await opens(false);
  assert.equal((await key.get(tokens)).body.total, 1);
});

test('ranges are answered, and a client that has the bytes gets none', async () => {
  const rows = [
    ['bytes=0-0', 206, 0, 0],
    ['bytes=5-9', 206, 5, 9],
    ['bytes=199999-', 206, 199_999, 199_999],
    ['bytes=65530-131080', 206, 65_530, 131_080],
    ['bytes=-10', 206, 199_990, 199_999],
    ['bytes=-999999', 206, 0, 199_999],
    ['bytes=100-999999', 206, 100, 199_999],
    ['bytes=100-99999999999999999999', 206, 100, 199_999],
    [`bytes=-${'9'.repeat(400)}`, 206, 0, 199_999],
    ['bytes=99999999999999999999-', 416, 0, 0],
    ['bytes=0-1,5-6', 416, 0, 0],
    ['items=0-1', 200, 0, 199_999],
    ['bytes=200000-', 416, 0, 0],
    ['bytes=-0', 416, 0, 0],
    ['bytes=9-5', 416, 0, 0],
    ['bytes=a-b', 416, 0, 0],
    ['bytes=-', 416, 0, 0],
  ] as const;
  const bytes = Buffer.from(someBytes(200_000));
  for (const settings of [{ encryption: false }, { encryption: true }, { encryption: true, compression: 'gzip' }]) {
    const files = await bucket(settings);
    (await upload(key, files, bytes, { fileId: 'one' })).expect(201);
    const url = `${target.origin}/v1${files}/one/download`;
    const headers = { 'X-Service-Project': target.project.id, 'X-Service-Key': keySecret };
    for (const [range, status, start, end] of rows) {
      const answer = await fetch(url, { headers: { ...headers, Range: range } });
      const got = Buffer.from(await answer.arrayBuffer());
      assert.equal(answer.status, status, range);
      if (status === 416) {
        assert.equal(answer.headers.get('content-range'), 'bytes */200000');
        continue;
      }
      assert.ok(got.equals(bytes.subarray(start, end + 1)), `${range} ${JSON.stringify(settings)}`);
      assert.equal(answer.headers.get('content-range'), status === 206 ? `bytes ${start}-${end}/200000` : null);
    }
    const whole = await fetch(url, { method: 'HEAD', headers });
    assert.deepEqual([whole.status, whole.headers.get('content-length')], [200, '200000']);
    for (const range of ['bytes=0-0', 'bytes=200000-']) {
      const head = await fetch(url, { method: 'HEAD', headers: { ...headers, Range: range } });
      assert.deepEqual([head.status, head.headers.get('content-length')], [200, '200000'], range);
    }
    const etag = whole.headers.get('etag') ?? '';
    const same = await fetch(url, { headers: { ...headers, 'If-None-Match': `"x", W/${etag}` } });
    assert.deepEqual([same.status, await same.text()], [304, '']);
    const changed = await fetch(url, { headers: { ...headers, Range: 'bytes=0-0', 'If-Range': '"x"' } });
    assert.deepEqual([changed.status, (await changed.arrayBuffer()).byteLength], [200, 200_000]);
  }
});

/** Text as spreadsheets save it. */
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

test('a browser shows images and PDF only, whatever a file is called or said to be', async () => {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
    'base64',
  );
  const gif = Buffer.from('GIF89a/*\0\0\0\0\0\0\0*/=1;alert(1)//<script>alert(1)</script>');
  const rows: [string, Uint8Array | string, string, string][] = [
    ['a.png', png, 'image/png', 'inline'],
    ['a.html', png, 'image/png', 'inline'],
    ['a.png', '<!doctype html><script>alert(1)</script>', 'text/plain; charset=utf-8', 'attachment'],
    ['a.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 'image/svg+xml', 'attachment'],
    ['a.txt', '<!-- a -->\n<!DOCTYPE svg>\n<svg width="1"/>', 'image/svg+xml', 'attachment'],
    ['a.csv', utf16('Größe;Preis\r\n'), 'text/plain; charset=utf-16le', 'attachment'],
    ['a.csv', utf16('Größe;Preis\r\n').swap16(), 'text/plain; charset=utf-16be', 'attachment'],
    ['a.csv', Buffer.from('Größe;Preis\r\n', 'latin1'), 'text/plain', 'attachment'],
    ['a.xml', '<?xml version="1.0"?><x/>', 'application/xml', 'attachment'],
    ['a.pdf', '%PDF-1.4\n%âãÏÓ\n1 0 obj', 'application/pdf', 'inline'],
    ['a.gif', gif, 'image/gif', 'inline'],
    ['a.bin', new Uint8Array([0, 1, 2, 3, 255]), 'application/octet-stream', 'attachment'],
  ];
  const files = await bucket();
  for (const [name, bytes, type, disposition] of rows) {
    const made = (await upload(key, files, bytes, { name })).expect(201);
    for (const [way, expected] of [
      ['view', disposition],
      ['download', 'attachment'],
    ] as const) {
      const { headers } = (await key.get(`${files}/${made.body.$id}/${way}`)).expect(200);
      if (type !== '') assert.equal(headers.get('content-type'), type, name);
      assert.notEqual(headers.get('content-type'), 'text/html');
      assert.ok(
        headers.get('content-disposition')?.startsWith(`${expected}; `),
        `${name} ${headers.get('content-disposition')}`,
      );
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
      assert.equal(
        policy.startsWith('sandbox'),
        type !== 'application/pdf',
        'the viewers of browsers show PDF in no sandbox',
      );
      assert.equal(policy.includes('script-src'), false);
      assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin');
      assert.match(headers.get('cache-control') ?? '', /^private/);
    }
  }
});

test('names are kept without what could steer a path, a header or a reader', async () => {
  const rows = [
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['a\u202egpj.exe', 'a_gpj.exe'],
    ['žluťoučký 🐎.txt', 'žluťoučký 🐎.txt'],
    ['..', 'file'],
    ['می\u200cخواهم 👩\u200d👩\u200d👧.pdf', 'می\u200cخواهم 👩\u200d👩\u200d👧.pdf'],
    ["it's (a) *star*.txt", "it's (a) *star*.txt"],
    [`${'ü'.repeat(300)}.txt`, `${'ü'.repeat(125)}.txt`],
    [`a.${'ü'.repeat(300)}`, `a.${'ü'.repeat(126)}`],
  ] as const;
  const files = await bucket();
  for (const [name, kept] of rows) {
    const made = (await upload(key, files, 'text', { name })).expect(201);
    assert.equal(made.body.name, kept);
    const { headers } = (await key.get(`${files}/${made.body.$id}/download`)).expect(200);
    const encoded = /filename\*=UTF-8''(.*)$/.exec(headers.get('content-disposition') ?? '')?.[1] ?? '';
    assert.equal(decodeURIComponent(encoded), kept);
    // What RFC 8187 §3.2.1 lets stand as it is, and nothing that ends or quotes a value.
    assert.match(encoded, /^[\w!#$&+.^`|~-]*(?:%[0-9A-F]{2}[\w!#$&+.^`|~-]*)*$/);
  }
});

test('a caller who may change a file but not read it can neither share nor read it', async () => {
  const files = await bucket({ permissions: [`update("user:${ada.id}")`], allowedFileExtensions: ['png'] });
  (await upload(key, files, 'text', { fileId: 'one', name: 'secret.png' })).expect(201);
  (await ada.client.get(`${files}/one`)).refused(404, 'storage_file_not_found');
  const tokens = `/tokens/buckets/${files.split('/')[3]}/files/one`;
  (await ada.client.post(tokens, {})).refused(401, 'user_unauthorized');
  const { body } = (await key.post(tokens, {})).expect(201);
  (await ada.client.get(`/tokens/${body.$id}`)).refused(404, 'token_not_found');
  (await ada.client.get(tokens)).refused(401, 'user_unauthorized');
  const changed = (await ada.client.put(`${files}/one`, { name: 'public.png' })).expect(200).body;
  assert.deepEqual([changed.$id, changed.name, changed.signature, changed.sizeOriginal], ['one', '', '', 0]);
  assert.equal((await key.get(`${files}/one`)).body.name, 'public.png');
  (await key.put(`${files}/one`, { name: 'program.exe' })).refused(400, 'storage_file_type_unsupported');
});
