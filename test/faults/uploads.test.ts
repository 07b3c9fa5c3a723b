// kill -9 of the server during uploads: every acknowledged file is whole, an upload goes on where it was, and after the sweep nothing is left of the
// rest, neither bytes nor what they counted. SVC_TEST_ROUNDS says how often; `npm run test:faults` does it fifty times.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chunkBytes, formOf, someBytes } from '../files/setup.js';
import { install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const rounds = Number(process.env.SVC_TEST_ROUNDS ?? 2);
const uploaders = 4;
const place = await install({ init: false });
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off', SVC_LOG_LEVEL: 'warn' });
await place.json(['init', '--yes', '--project', 'Shop', '--project-id', 'shop']);
const { secret } = await place.json<{ secret: string }>([
  'apikey',
  'create',
  '--project',
  'shop',
  '--name',
  'test',
  '--scopes',
  'all',
]);
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
const files = '/storage/buckets/many/files';
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The digests of files of which the last answer has arrived. */
const acknowledged = new Map<string, string>();

/** Sends one chunk, or a whole small file; undefined where no answer came. */
async function send(server: Server, bytes: Uint8Array, fileId: string, number: number): Promise<number | undefined> {
  const start = number * chunkBytes;
  const part = bytes.subarray(start, start + chunkBytes);
  const form = await formOf(part, { fileId });
  const range = { 'Content-Range': `bytes ${start}-${start + part.length - 1}/${bytes.length}` };
  try {
    const answer = await fetch(server.url + files, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': form.type, ...(bytes.length > chunkBytes ? range : {}) },
      body: form.bytes as Uint8Array<ArrayBuffer>,
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return undefined;
  }
}

/** Uploads one file after another until the server is gone, and calls back for each file that the server has acknowledged. */
async function uploadUntilGone(server: Server, name: string, onAcknowledged: () => void): Promise<void> {
  for (let number = 0; ; number++) {
    const fileId = `${name}-${number}`;
    const bytes = someBytes(number % 2 === 0 ? 70_000 : 2 * chunkBytes + 1000, number + 7);
    for (let chunk = 0; chunk * chunkBytes < bytes.length; chunk++) {
      const status = await send(server, bytes, fileId, chunk);
      if (status === undefined) return;
      assert.equal(status, 201, fileId);
    }
    acknowledged.set(fileId, digestOf(bytes));
    onAcknowledged();
  }
}

test(`every acknowledged file is whole after ${rounds} kills during uploads`, async (t) => {
  let server = await place.serve();
  const bucket = { bucketId: 'many', name: 'Many', encryption: false };
  const made = await fetch(`${server.url}/storage/buckets`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(bucket),
  });
  assert.equal(made.status, 201);
  for (let round = 0; round < rounds; round++) {
    let onAcknowledged = () => {};
    const firstAcknowledged = new Promise<void>((resolve) => {
      onAcknowledged = resolve;
    });
    const uploading = Promise.all(
      Array.from({ length: uploaders }, (_, at) => uploadUntilGone(server, `r${round}u${at}`, onAcknowledged)),
    );
    await Promise.race([firstAcknowledged, uploading]);
    await sleep(137 * (round % 7));
    server.signal('SIGKILL');
    await server.ended;
    await uploading;
    server = await place.serve();
  }
  assert.ok(acknowledged.size >= rounds, `${acknowledged.size} files`);
  for (const [fileId, digest] of acknowledged) {
    const answer = await fetch(`${server.url}${files}/${fileId}/download`, { headers });
    assert.equal(answer.status, 200, fileId);
    assert.equal(digestOf(new Uint8Array(await answer.arrayBuffer())), digest, fileId);
  }
  const before = await place.json<{ missing: string[] }>(['files', 'check']);
  assert.deepEqual(before.missing, []);

  // As if what was begun had been left for longer than an upload may rest.
  const past = '2020-01-01T00:00:00.000Z';
  await place.sql(`update file_objects set changed_at = '${past}' where state <> 'stored'`);
  await place.sql(`update files set updated_at = '${past}' where completed_at is null`);
  await place.json(['cron', 'run', 'files.sweep']);
  await place.json(['cron', 'run', 'files.sweep']);
  const swept = await place.json<{ missing: string[]; orphans: string[] }>(['files', 'check']);
  assert.deepEqual([swept.missing, swept.orphans], [[], []]);
  const [left] = await place.sql('select count(*) as n from files where completed_at is null');
  assert.equal(Number(left?.n), 0);
  const [sums] = await place.sql(
    'select (select sum(size_original) from files) as files, (select sum(bytes) from file_usage) as used',
  );
  assert.equal(Number(sums?.used), Number(sums?.files));
  t.diagnostic(`${acknowledged.size} files acknowledged`);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
