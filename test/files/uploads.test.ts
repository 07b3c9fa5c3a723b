// How files come in, whole and in chunks, and what is left of those that do not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileLimits } from '#src/contract/limits.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf, runSql } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { aFileBackend, chunkBytes, someBytes, until, upload, uploadChunk } from './setup.js';

const target = await startAppliance({ settings: { SVC_TRUSTED_PROXIES: '127.0.0.0/8' } });
const { key, secret, bucket } = await aFileBackend(target);
const { runtime, features } = target.appliance;
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
const whole = someBytes(2 * chunkBytes + 17);

/** Runs the job until nothing waits for it; returns the keys of the objects that are left. */
async function swept(): Promise<string[]> {
  await features.jobs.run('files.sweep');
  const { missing, orphans } = await features.checkFiles();
  assert.deepEqual([missing, orphans], [[], []]);
  const keys: string[] = [];
  for await (const object of runtime.files.list('')) keys.push(object.key);
  // Nothing waits for a later run either.
  assert.ok(!(await rowsOf(target, 'file_objects')).some(({ state }) => state !== 'stored'));
  return keys;
}

async function bytesOf(files: string, id: string): Promise<Buffer> {
  const headers = { 'X-Service-Project': target.project.id, 'X-Service-Key': secret };
  const answer = await fetch(`${target.origin}/v1${files}/${id}/download`, { headers });
  assert.equal(answer.status, 200);
  return Buffer.from(await answer.arrayBuffer());
}

test('chunks come in any order, at once, again, and through two processes', async () => {
  const files = await bucket();
  const other = createClient(await target.startSibling(), { key: secret });
  (await uploadChunk(key, files, whole, 1, { fileId: 'one' })).expect(201);
  const id = { 'X-Appwrite-Id': 'one' };
  (await key.get(`${files}/one`)).expect(200);
  (await key.get(`${files}/one/download`)).refused(404, 'storage_file_not_found');
  assert.equal((await key.get(files)).body.total, 0);
  const answers = await Promise.all([
    uploadChunk(key, files, whole, 0, { headers: id }),
    uploadChunk(other, files, whole, 0, { headers: id }),
    uploadChunk(other, files, whole, 2, { headers: { 'X-Service-Id': 'one' } }),
    uploadChunk(key, files, whole, 1, { headers: id }),
  ]);
  for (const answer of answers) answer.expect(201);
  assert.ok(answers.some(({ body }) => body.chunksUploaded === 3));
  assert.ok((await bytesOf(files, 'one')).equals(whole));
  const again = (await uploadChunk(key, files, whole, 2, { headers: id })).expect(201);
  assert.deepEqual([again.body.chunksUploaded, again.body.sizeOriginal], [3, whole.length]);
  const events = await rowsOf(target, 'events');
  assert.equal(events.filter(({ type, data }) => type === 'fileCreated' && String(data).includes('"one"')).length, 1);
  (await key.delete(files.replace('/files', ''))).expect(204);
  assert.deepEqual(await swept(), []);
});

test('the last chunk may end at the size, as in web SDKs up to 10', async () => {
  const files = await bucket();
  const size = whole.length;
  const first = { 'Content-Range': `bytes 0-${chunkBytes - 1}/${size}` };
  const { $id } = (await upload(key, files, whole.subarray(0, chunkBytes), { headers: first })).expect(201).body;
  const number = Math.floor(size / chunkBytes);
  for (let at = 1; at < number; at++)
    (await uploadChunk(key, files, whole, at, { headers: { 'X-Appwrite-Id': String($id) } })).expect(201);
  const headers = { 'X-Appwrite-Id': String($id), 'Content-Range': `bytes ${number * chunkBytes}-${size}/${size}` };
  const last = (await upload(key, files, whole.subarray(number * chunkBytes), { headers })).expect(201).body;
  assert.deepEqual([last.chunksUploaded, last.sizeOriginal], [number + 1, size]);
  (await key.delete(files.replace('/files', ''))).expect(204);
});

test('what stands after the end of the file in a last chunk is dropped, up to the size of a chunk', async () => {
  const files = await bucket();
  const [size, range] = [chunkBytes + 11, `bytes ${chunkBytes}-${chunkBytes + 10}/${chunkBytes + 11}`];
  (await uploadChunk(key, files, whole.subarray(0, size), 0, { fileId: 'one' })).expect(201);
  const headers = { 'X-Appwrite-Id': 'one', 'Content-Range': range };
  const send = (bytes: Uint8Array) => upload(key, files, bytes, { fileId: 'one', headers });
  const rest = whole.subarray(chunkBytes);
  (await send(rest.subarray(0, chunkBytes + 1))).refused(400, 'storage_invalid_file_size');
  assert.equal((await send(rest.subarray(0, chunkBytes))).expect(201).body.sizeOriginal, size);
  assert.ok((await bytesOf(files, 'one')).equals(whole.subarray(0, size)));
  (await key.delete(files.replace('/files', ''))).expect(204);
});

test('a chunk that does not fit its file is refused and leaves nothing', async () => {
  const files = await bucket({ permissions: ['create("users")'] });
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  (await uploadChunk(ada.client, files, whole, 0, { fileId: 'one' })).expect(201);
  const kept = (await swept()).length;
  const id = { 'X-Appwrite-Id': 'one' };
  const rows = [
    ['bytes 1-5242880/10485777', 400, 'storage_invalid_content_range'],
    ['bytes 5242880-5242890/10485777', 400, 'storage_invalid_content_range'],
    ['bytes 5242880-10485759/10485778', 400, 'storage_invalid_content_range'],
    ['bytes 5242880-10485759/5', 400, 'storage_invalid_content_range'],
    ['bytes 10-5/20', 400, 'storage_invalid_content_range'],
    ['0-5', 400, 'storage_invalid_content_range'],
    ['bytes 0-5242879/99999999', 400, 'storage_invalid_file_size'],
  ] as const;
  for (const [range, status, type] of rows) {
    const headers = { ...id, 'Content-Range': range };
    (await upload(ada.client, files, whole.subarray(0, 11), { headers })).refused(status, type);
  }
  // Fewer bytes than said.
  const short = { ...id, 'Content-Range': `bytes ${chunkBytes}-${2 * chunkBytes - 1}/${whole.length}` };
  (await upload(ada.client, files, 'few', { headers: short })).refused(400, 'storage_invalid_content_range');
  (await uploadChunk(bob.client, files, whole, 1, { headers: id })).refused(404, 'storage_file_not_found');
  (await uploadChunk(bob.client, files, whole, 1, { fileId: 'one' })).refused(409, 'storage_file_already_exists');
  const unknown = { headers: { 'X-Appwrite-Id': 'unknown' } };
  (await uploadChunk(ada.client, files, whole, 1, unknown)).refused(404, 'storage_file_not_found');
  const odd = { headers: { 'X-Appwrite-Id': 'unique()' } };
  (await uploadChunk(ada.client, files, whole, 1, odd)).refused(400, 'storage_invalid_appwrite_id');
  assert.equal((await swept()).length, kept);
  // A day without a chunk gives the upload up, with what it has reserved.
  target.clock.advance(86_401_000);
  assert.deepEqual(await swept(), []);
  (await key.get(`${files}/one`)).refused(404, 'storage_file_not_found');
  assert.equal((await key.get(files.replace('/files', ''))).body.totalSize, 0);
});

test('a first chunk may name its file in the header too, with the fields of the form before or after the bytes', async () => {
  const files = await bucket();
  const part = (name: string, value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const file = part('file', 'text', '; filename="a.txt"');
  const send = (fileId: string, body: string) => {
    const type = { 'Content-Type': 'multipart/form-data; boundary=b' };
    const headers = { ...type, 'Content-Range': 'bytes 0-3/4', 'X-Appwrite-Id': fileId };
    return key.post(files, Buffer.from(`${body}--b--\r\n`), headers);
  };
  assert.equal((await send('before', part('fileId', 'before') + file)).expect(201).body.$id, 'before');
  assert.equal((await send('after', file + part('fileId', 'after'))).expect(201).body.$id, 'after');
  for (const body of [part('fileId', 'one') + file, file + part('fileId', 'one')])
    (await send('other', body)).refused(404, 'storage_file_not_found');
  assert.equal((await key.get(files)).expect(200).body.total, 2);
  (await key.delete(files.replace('/files', ''))).expect(204);
  assert.deepEqual(await swept(), []);
});

test('a form that is none, has no file, two files or too much of anything is refused and leaves nothing', async () => {
  const files = await bucket({ allowedFileExtensions: ['png', 'TXT'], maximumFileSize: 1000 });
  const part = (name: string, value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const file = part('file', 'text', '; filename="a.txt"');
  const id = part('fileId', 'unique()');
  const send = (body: string, type = 'multipart/form-data; boundary=b') =>
    key.post(files, Buffer.from(body), { 'Content-Type': type });
  (await send(`${file}${id}--b--\r\n`)).expect(201);
  const rows: [string, number, Parameters<Awaited<ReturnType<typeof send>>['refused']>[1]][] = [
    [`${id}--b--\r\n`, 400, 'storage_file_empty'],
    [`${id}${part('file', '', '; filename="a.txt"')}--b--\r\n`, 400, 'storage_file_empty'],
    [`${id}${part('file', 'x', '; filename="a.exe"')}--b--\r\n`, 400, 'storage_file_type_unsupported'],
    [`${id}${part('file', 'x', '; filename="png"')}--b--\r\n`, 400, 'storage_file_type_unsupported'],
    [`${id}${part('file', 'x'.repeat(1001), '; filename="a.txt"')}--b--\r\n`, 400, 'storage_invalid_file_size'],
    [`${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${part('fileId', '../../x')}${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${part('permissions[]', 'create("any")')}${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${part('__proto__', 'x')}${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${part('x', 'y'.repeat(5000))}${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${part('x', 'y').repeat(111)}${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${file}${file}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${part('other', 'text', '; filename="a.txt"')}--b--\r\n`, 400, 'general_argument_invalid'],
    [`${id}${file}`, 400, 'general_argument_invalid'],
    [
      `${id}--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nte`,
      400,
      'general_argument_invalid',
    ],
    ['no form', 400, 'storage_file_empty'],
  ];
  const kept = (await swept()).length;
  for (const [body, status, type] of rows) {
    const answer = await send(body);
    assert.deepEqual([answer.status, answer.body.type], [status, type], body.slice(0, 200));
  }
  (await send('{}', 'application/json')).refused(415, 'general_media_type_unsupported');
  (await send('x', 'multipart/form-data')).refused(415, 'general_media_type_unsupported');
  (await send('x', 'multipart/form-data; charset=x')).refused(400, 'general_argument_invalid');
  assert.equal((await swept()).length, kept);
  assert.equal((await key.get(files)).body.total, 1);
});

test('an upload prefers the exact name of a file, filename*', async () => {
  const files = await bucket({ allowedFileExtensions: ['pdf'] });
  const exact = "filename*=utf-8''K%C3%BCndigung%3B%20%22a%22.pdf";
  for (const names of [
    exact,
    `filename="=?utf-8?B?S8O8bmRpZ3VuZw==?="; ${exact}`,
    `filename="K?ndigung; \\"a\\".pdf" ; ${exact}`,
    `filename=a.pdf; ${exact}`,
    'filename="Kündigung; \\"a\\".pdf"',
  ]) {
    const fields = '--b\r\nContent-Disposition: form-data; name="fileId"\r\n\r\nunique()\r\n';
    const body = `${fields}--b\r\nContent-Disposition: form-data; name="file"; ${names}\r\n\r\ntext\r\n--b--\r\n`;
    // Some clients say that a body is not compressed.
    const headers = { 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Encoding': 'identity' };
    assert.equal(
      (await key.post(files, Buffer.from(body), headers)).expect(201).body.name,
      'Kündigung; "a".pdf',
      names,
    );
  }
  const within = 'filename="a; filename*=b.pdf"';
  const body = `--b\r\nContent-Disposition: form-data; name="fileId"\r\n\r\nwithin\r\n--b\r\nContent-Disposition: form-data; name="file"; ${within}\r\n\r\ntext\r\n--b--\r\n`;
  const answer = await key.post(files, Buffer.from(body), { 'Content-Type': 'multipart/form-data; boundary=b' });
  assert.equal(answer.expect(201).body.name, 'a; filename*=b.pdf');
});

test('an upload that breaks off leaves nothing', async () => {
  const files = await bucket();
  const kept = (await swept()).length;
  const socket = connect(Number(new URL(target.origin).port), '127.0.0.1');
  const head = [
    `POST /v1${files} HTTP/1.1`,
    'Host: localhost',
    `X-Service-Project: ${target.project.id}`,
    `X-Service-Key: ${secret}`,
  ];
  socket.write(
    `${head.join('\r\n')}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 900000\r\n\r\n`,
  );
  socket.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
  socket.write(someBytes(200_000));
  const objects = () => rowsOf(target, 'file_objects');
  const begun = await until(async () => (await objects()).find(({ state }) => state === 'writing'));
  socket.destroy();
  await once(socket, 'close');
  await until(async () => !(await objects()).some(({ key: one }) => one === begun.key));
  assert.equal((await swept()).length, kept);
});

test('parallel uploads never pass the quota of a project, and a deletion frees it', async () => {
  const files = await bucket();
  await changeSettings(target, { 'files.maxBytes': Number((await rowsOf(target, 'file_usage'))[0]?.bytes) + 1000 });
  target.clock.advance(1000);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => upload(key, files, someBytes(300), { fileId: `file-${at}` })),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 3);
  for (const answer of answers.filter(({ status }) => status !== 201)) answer.refused(400, 'storage_quota_exceeded');
  const [first] = (await key.get(files)).list('files');
  const act = async () => void (await key.delete(`${files}/${first?.$id}`)).expect(204);
  assert.deepEqual((await recordedBy(target, act)).recorded, {
    audit: ['fileDeleted'],
    events: ['fileDeleted'],
    messages: [],
  });
  (await upload(key, files, someBytes(300))).expect(201);
  (await upload(key, files, someBytes(300))).refused(400, 'storage_quota_exceeded');
  (await key.delete(files.replace('/files', ''))).expect(204);
  const next = await bucket();
  (await upload(key, next, someBytes(900))).expect(201);
  await changeSettings(target, { 'files.maxBytes': 10_000_000_000 });
});

test('only the caller who began an upload in chunks can complete it, guests by their address', async () => {
  const files = await bucket({ permissions: ['create("any")', 'read("any")'] });
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const guestAt = (ip: string) => createClient(target, { headers: { 'X-Forwarded-For': ip } });
  const callers = [ada.client, bob.client, key, guestAt('198.51.100.1'), guestAt('198.51.100.2')];
  const two = whole.subarray(0, chunkBytes + 5);
  for (const [at, owner] of callers.entries()) {
    const fileId = `${at}123456789abcdef0123`;
    (await uploadChunk(owner, files, two, 0, { fileId })).expect(201);
    for (const other of callers.filter((client) => client !== owner)) {
      const goesOn = await uploadChunk(other, files, two, 1, { fileId, headers: { 'X-Service-Id': fileId } });
      goesOn.refused(404, 'storage_file_not_found');
      (await uploadChunk(other, files, two, 1, { fileId })).refused(409, 'storage_file_already_exists');
      (await upload(other, files, 'text', { fileId })).refused(409, 'storage_file_already_exists');
    }
    const last = () => uploadChunk(owner, files, two, 1, { fileId, headers: { 'X-Service-Id': fileId } });
    assert.equal((await last()).expect(201).body.chunksUploaded, 2);
    // The answer was lost, and the client asks again.
    (await last()).expect(201);
    assert.ok((await bytesOf(files, fileId)).equals(two));
  }
  const creators = (await rowsOf(target, 'files')).map(({ creator }) => String(creator));
  assert.ok(!creators.join().includes('198.51.100'));
});

test('files half-written by a killed process are removed with their rows', async () => {
  await swept();
  const fileKey = `${target.project.id}/b/aa/left.0`;
  const directory = join(runtime.config.dataDir, 'files', target.project.id, 'b/aa');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'left.0.incoming'), 'half of it');
  const at = new Date(target.clock.now()).toISOString();
  await runSql(
    target,
    `insert into file_objects (key, project_id, bucket_key, number, size, stored_size, state, changed_at)
      values (?, ?, 'b', 0, 0, 0, 'writing', ?)`,
    [fileKey, target.project.id, at],
  );
  await features.jobs.run('files.sweep');
  assert.ok(existsSync(join(directory, 'left.0.incoming')), 'it may still be written');
  target.clock.advance(fileLimits.writingSeconds * 1000 + 1000);
  await swept();
  assert.ok(!existsSync(directory));
});

test('objects in the store and rows in the database are compared both ways', async () => {
  const files = await bucket();
  await swept();
  (await upload(key, files, 'text', { fileId: 'one' })).expect(201);
  const [row] = (await rowsOf(target, 'file_objects')).filter(({ file_id: id }) => id === 'one');
  await runtime.files.write('stray/object.0', oneChunk('x'));
  await runtime.files.remove(String(row?.key));
  const checked = { referred: 0, stored: 0 };
  const found = await features.checkFiles(undefined, (objects, which) => {
    checked[which] = objects;
  });
  const { missing, orphans, files: damaged } = found;
  assert.deepEqual([missing, orphans], [[row?.key], ['stray/object.0']]);
  assert.deepEqual(checked, { referred: found.objects, stored: found.objects }, 'one is missing, and one is unknown');
  const bucketId = files.split('/')[3];
  assert.deepEqual(damaged, [{ projectId: target.project.id, bucketId, fileId: 'one' }]);
  const answer = (await key.get(`${files}/one/download`)).refused(503, 'general_unavailable');
  assert.equal(answer.headers.get('retry-after'), '600');
  await runtime.files.remove('stray/object.0');
  (await key.delete(`${files}/one`)).expect(204);
  await swept();
});

test('erasing a user and deleting a project remove their files', async () => {
  const files = await bucket({ permissions: ['create("users")'], encryption: false });
  const ada = await aLoggedInUser(target);
  (await upload(key, files, 'theirs', { fileId: 'theirs' })).expect(201);
  (await upload(ada.client, files, 'mine', { fileId: 'mine' })).expect(201);
  const erased = await features.erasure.run(by, target.project, ada.id);
  assert.equal(erased.files, 1);
  assert.deepEqual(
    (await key.get(files)).list('files').map(({ $id }) => $id),
    ['theirs'],
  );
  const before = (await swept()).length;
  const { secret: inOther } = await aFileBackendOf('neighbour');
  const other = createClient(target, { project: 'neighbour', key: inOther });
  (await other.post('/storage/buckets', { bucketId: 'b', name: 'B' })).expect(201);
  (await upload(other, '/storage/buckets/b/files', 'text')).expect(201);
  assert.equal((await swept()).length, before + 1);
  await features.projects.remove(by, 'neighbour');
  assert.equal((await swept()).length, before);
});

async function aFileBackendOf(projectId: string) {
  const { aServerKey } = await import('../harness/actors.js');
  return aServerKey(target, { projectId });
}

async function* oneChunk(text: string) {
  yield Buffer.from(text);
}
