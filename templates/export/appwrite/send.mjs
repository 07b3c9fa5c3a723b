// Sends an export of svc to the API of Appwrite. Needs Node.js 20 or later and nothing else. It can be run again: what exists stays.
import { createReadStream, openAsBlob } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const { APPWRITE_ENDPOINT: endpoint, APPWRITE_PROJECT_ID: project, APPWRITE_API_KEY: key } = process.env;
/** Documents sent at once. With more than one, lists without an order show them in another one. */
const parallel = Number(process.env.SEND_PARALLEL ?? 1);
if (!endpoint || !project || !key) {
  console.error('Set APPWRITE_ENDPOINT (ends with /v1), APPWRITE_PROJECT_ID and APPWRITE_API_KEY.');
  process.exit(2);
}
const directory = fileURLToPath(new URL('.', import.meta.url));
const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key };
const chunkBytes = 5 * 1024 * 1024;
const attempts = 8;
const counts = { sent: 0, existed: 0, failed: 0 };

/** Sends a request again after 429, 5xx and broken connections. */
async function request(method, path, body, more = {}) {
  for (let attempt = 1; ; attempt++) {
    let problem;
    let seconds = 2 ** (attempt - 1) / 2;
    try {
      const answer = await fetch(endpoint.replace(/\/+$/, '') + path, {
        method,
        headers: { ...headers, ...more },
        body: typeof body === 'function' ? body() : body,
      });
      const text = await answer.text();
      if (answer.status !== 429 && answer.status < 500) return { status: answer.status, text };
      seconds = Number(answer.headers.get('retry-after')) || seconds;
      problem = `status ${answer.status}: ${text.slice(0, 200)}`;
    } catch (error) {
      problem = error.cause?.message ?? error.message;
    }
    if (attempt === attempts) return { status: 0, text: problem };
    await sleep(Math.min(seconds, 300) * 1000);
  }
}

function count({ status, text }, name) {
  if (status >= 200 && status < 300) counts.sent += 1;
  else if (status === 409) counts.existed += 1;
  else {
    counts.failed += 1;
    console.error(`${name}: ${status} ${text.slice(0, 500)}`);
  }
}

async function* linesOf(name) {
  const lines = createInterface({ input: createReadStream(join(directory, name)), crlfDelay: Infinity });
  for await (const line of lines) if (line !== '') yield line;
}

/** The text of the member `body` of a line, as it is, because JavaScript rounds numbers of 64 bits. */
const bodyOf = (line) => line.slice(line.indexOf(',"body":') + ',"body":'.length, -1);

/** Sends the requests of a file, up to a number at once. */
async function sendAll(name, most) {
  const running = new Set();
  for await (const line of linesOf(name)) {
    const { method, path } = JSON.parse(line);
    const sending = request(method, path, bodyOf(line), { 'Content-Type': 'application/json' })
      .then((answer) => count(answer, `${method} ${path}`))
      .finally(() => running.delete(sending));
    running.add(sending);
    if (running.size >= most) await Promise.race(running);
  }
  await Promise.all(running);
  console.log(name, JSON.stringify(counts));
}

/** Sends a file, in chunks if it is large. */
async function sendFile({ bucketId, fileId, name, permissions, mimeType }) {
  const blob = await openAsBlob(join(directory, 'files', bucketId, fileId), { type: mimeType });
  const path = `/storage/buckets/${bucketId}/files`;
  const there = await request('GET', `${path}/${fileId}`);
  if (there.status === 200) {
    const { chunksTotal, chunksUploaded } = JSON.parse(there.text);
    if (chunksUploaded >= chunksTotal) return count({ status: 409 }, name);
  }
  for (let start = 0; start < blob.size; start += chunkBytes) {
    const end = Math.min(start + chunkBytes, blob.size);
    const form = () => {
      const fields = new FormData();
      fields.append('fileId', fileId);
      for (const permission of permissions) fields.append('permissions[]', permission);
      fields.append('file', blob.slice(start, end), name);
      return fields;
    };
    const range = { 'Content-Range': `bytes ${start}-${end - 1}/${blob.size}`, 'x-appwrite-id': fileId };
    const answer = await request('POST', path, form, blob.size > chunkBytes ? range : {});
    const isLast = end === blob.size;
    if (isLast || answer.status >= 300 || answer.status === 0) return count(answer, `file ${bucketId}/${fileId}`);
  }
}

await sendAll('1-teams.ndjson', 1);
await sendAll('2-users.ndjson', 1);
await sendAll('3-memberships.ndjson', 1);
await sendAll('4-documents.ndjson', parallel);
await sendAll('5-relationships.ndjson', 1);
await sendAll('6-webhooks.ndjson', 1);
for await (const line of linesOf('files.ndjson')) await sendFile(JSON.parse(line));
console.log('files', JSON.stringify(counts));
process.exitCode = counts.failed === 0 ? 0 : 1;
