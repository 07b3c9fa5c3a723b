// `svc user erase` and the files of a person: nothing is left of their bytes, names, previews and events, and others keep theirs.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import sharp from 'sharp';
import { aFileBackend, beginChunk, chunkBytes, upload, uploadChunk } from '../files/setup.js';
import { aLoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { startReceiver } from '../harness/receiver.js';
import { aWebhook, eventually, startOpen } from '../webhooks/setup.js';
import { stored } from './setup.js';

const mark = 'zqxmarker';
const markBytes = Buffer.from(mark);

/** The paths below the directories of files and previews. */
function pathsBelow(target: TestAppliance): string[] {
  const { dataDir } = target.appliance.runtime.config;
  return ['files', 'previews'].flatMap((name) => {
    const root = join(dataDir, name);
    if (!existsSync(root)) return [];
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  });
}

/** Where the marker is: in the database, in an object, in the log. */
async function markedPlaces(target: TestAppliance): Promise<string[]> {
  const objects = pathsBelow(target).filter((path) => path.includes(mark) || readFileSync(path).includes(markBytes));
  const inDatabase = (await stored(target)).includes(mark) ? ['database'] : [];
  return [...inDatabase, ...objects, ...(target.log().includes(mark) ? ['log'] : [])];
}

/** Files of a user in each state, with the marker in names and bytes. */
async function manyFiles(files: string, user: Client, key: Client): Promise<void> {
  const add = (fileId: string, name = `${mark}-${fileId}.txt`) =>
    upload(user, files, `bytes with ${mark}`, { fileId, name, headers: { 'Idempotency-Key': `${files}/${fileId}` } });
  for (const fileId of ['text', 'renamed', 'deleted', 'given']) (await add(fileId)).expect(201);
  (await user.put(`${files}/renamed`, { name: `${mark}-2.txt` })).expect(200);
  const headers = { 'Idempotency-Key': 'by-the-backend' };
  (await key.put(`${files}/renamed`, { name: `${mark}-3.txt` }, headers)).expect(200);
  (await user.delete(`${files}/deleted`)).expect(204);
  // Others may read it and the user may not: it is the user's still.
  (await key.put(`${files}/given`, { permissions: ['read("users")'] })).expect(200);
  const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#204060' } })
    .png()
    .toBuffer();
  (await upload(user, files, picture, { fileId: 'picture', name: `${mark}.png` })).expect(201);
  for (const width of [10, 20]) (await user.get(`${files}/picture/preview?width=${width}`)).expect(200);
  const large = Buffer.alloc(chunkBytes + 10, `${mark} `);
  (await uploadChunk(user, files, large, 0, { fileId: 'unfinished', name: `${mark}.bin` })).expect(201);
  (await key.post(files.replace('/storage', '/tokens').concat('/text'), {})).expect(201);
}

test('nothing is left of the files of a person, and others keep theirs', async () => {
  const target = await startOpen();
  const { features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'cli' }, requestId: 'erase' };
  const receiver = await startReceiver();
  receiver.answer = (response) => response.end(receiver.calls.at(-1)?.body);
  const { key, bucket } = await aFileBackend(target);
  await aWebhook(key, receiver.origin);
  const plain = await bucket({ permissions: ['create("users")'], fileSecurity: true, encryption: false });
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  await manyFiles(plain, ada.client, key);
  (await upload(bob.client, plain, 'of Bob', { fileId: 'bobs', name: `about-${ada.id}.txt` })).expect(201);
  // The id of a file that was deleted may be given again, to somebody else.
  (await upload(bob.client, plain, 'of Bob', { fileId: 'deleted', name: 'kept.txt' })).expect(201);
  await eventually(async () => {
    const states = (await rowsOf(target, 'deliveries')).map(({ state }) => state);
    assert.ok(states.length >= 10 && states.every((state) => state === 'delivered'), states.join());
  });
  assert.ok((await markedPlaces(target)).length > 4);
  const previews = () => pathsBelow(target).filter((path) => path.includes('previews')).length;
  assert.equal(previews(), 2);

  const erased = await features.erasure.run(by, target.project, ada.id);
  await features.erasure.scrub();
  assert.equal(erased.files, 5);
  await eventually(async () => assert.deepEqual(await markedPlaces(target), []));
  assert.equal(previews(), 0);
  assert.deepEqual((await rowsOf(target, 'file_objects')).map(({ file_id: id }) => id).sort(), ['bobs', 'deleted']);
  assert.equal(pathsBelow(target).length, 2);
  assert.deepEqual(await rowsOf(target, 'file_tokens'), []);

  const events = (await rowsOf(target, 'events', target.project.id)).filter(({ type }) =>
    String(type).startsWith('file'),
  );
  const ofBob = events.filter(({ data }) => String(data).includes('"name"'));
  assert.deepEqual(ofBob.map(({ data }) => JSON.parse(String(data)).name).sort(), [`about-${ada.id}.txt`, 'kept.txt']);
  assert.ok(events.length > 12, String(events.length));
  (await bob.client.get(`${plain}/bobs`)).expect(200);
  await features.audit.seal();
  assert.equal((await features.audit.verify()).findings[0], undefined);
});

for (const [what, size] of [
  ['a file', 10_000],
  ['the first chunk of a file', chunkBytes + 10],
] as const)
  test(`${what} that arrives while its user is erased is refused, and nothing is left of it`, async () => {
    const target = await startOpen();
    const { features } = target.appliance;
    const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'cli' }, requestId: 'erase' };
    const { bucket } = await aFileBackend(target);
    const files = await bucket({ permissions: ['create("users")'], fileSecurity: true, encryption: false });
    const ada = await aLoggedInUser(target);
    const slow = await beginChunk(
      target,
      { 'X-Service-Session': ada.secret },
      files,
      Buffer.alloc(size, `${mark} `),
      0,
      { fileId: 'late', name: `${mark}.bin`, headers: { 'Idempotency-Key': 'late' } },
    );
    await features.erasure.run(by, target.project, ada.id);
    (await slow.finish()).expect(401);
    await features.erasure.scrub();
    await features.jobs.run('files.sweep');
    await eventually(async () => assert.deepEqual(await markedPlaces(target), []));
    assert.deepEqual(await rowsOf(target, 'files'), []);
  });
