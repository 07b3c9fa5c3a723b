// Sends an export of svc to the API of Appwrite. Needs Node.js 20 or later and nothing else. It can be run again: it goes on
// where it stopped, and never changes what the receiver had before.
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, openAsBlob, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const { APPWRITE_ENDPOINT, APPWRITE_PROJECT_ID: project, APPWRITE_API_KEY: key } = process.env;
/** Documents sent at once. With more than one, lists without an order show them in another one. */
const parallel = Number(process.env.SEND_PARALLEL ?? 1);
if (!APPWRITE_ENDPOINT || !project || !key) {
  console.error('Set APPWRITE_ENDPOINT (ends with /v1), APPWRITE_PROJECT_ID and APPWRITE_API_KEY.');
  process.exit(2);
}
const endpoint = APPWRITE_ENDPOINT.replace(/\/+$/, '');
const directory = fileURLToPath(new URL('.', import.meta.url));
const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key };
const chunkBytes = 5 * 1024 * 1024;
const attempts = 8;

/** What this project has got so far, a byte for each line of a file of requests. */
const sentDirectory = join(
  directory,
  'sent',
  createHash('sha256').update(`${endpoint} ${project}`).digest('hex').slice(0, 16),
);
mkdirSync(sentDirectory, { recursive: true, mode: 0o700 });
/** `begun` was sent, but its answer is not known: a 409 to the next attempt means that it had arrived. */
const [none, begun, sent, existed, failed] = ['\0', '?', '+', '=', '-'];

class Stop extends Error {}

/** Sends a request again after 429, 5xx and broken connections. `isRepeated` tells that an earlier attempt may have arrived. */
async function request(method, path, body, more = {}) {
  for (let attempt = 1, isRepeated = false; ; attempt++) {
    let problem;
    let seconds = 2 ** (attempt - 1) / 2;
    try {
      const answer = await fetch(endpoint + path, {
        method,
        headers: { ...headers, ...more },
        body: typeof body === 'function' ? body() : body,
      });
      const text = await answer.text();
      // No other request would fare better.
      if (answer.status === 401 || text.includes('"project_not_found"')) throw new Stop(text);
      if (answer.status !== 429 && answer.status < 500) return { status: answer.status, text, isRepeated };
      seconds = Number(answer.headers.get('retry-after')) || seconds;
      problem = `status ${answer.status}: ${text.slice(0, 200)}`;
      if (attempt === attempts && answer.status === 500) return { status: 500, text, isRepeated };
    } catch (error) {
      if (error instanceof Stop) throw error;
      const { code, message } = error.cause ?? error;
      problem = code ?? message;
      if (['ECONNREFUSED', 'ENOTFOUND', 'ERR_INVALID_URL'].includes(code))
        throw new Stop(`It cannot be reached: ${problem}`);
    }
    if (attempt === attempts) throw new Stop(`It cannot be reached: ${problem}`);
    isRepeated = true;
    await sleep(Math.min(seconds, 300) * 1000);
  }
}

/** Counts of a step. `before` were sent by an earlier run. */
function createCounts() {
  const counts = { sent: 0, before: 0, existed: 0, failed: 0 };
  const add = ({ status, text }, name) => {
    if (status >= 200 && status < 300) counts.sent += 1;
    else if (status === 409) counts.existed += 1;
    else {
      counts.failed += 1;
      isFailed = true;
      console.error(`${name}: ${status} ${text.slice(0, 500)}`);
    }
  };
  return { counts, add };
}
let isFailed = false;

async function* linesOf(name) {
  const lines = createInterface({ input: createReadStream(join(directory, name)), crlfDelay: Infinity });
  for await (const line of lines) if (line !== '') yield line;
}

/** The results of a file of requests, on disk. */
function resultsOf(step) {
  const file = openSync(join(sentDirectory, step), 'a+');
  // A file that is open for appending ignores positions.
  const writer = openSync(join(sentDirectory, step), 'r+');
  const byte = Buffer.alloc(1);
  return {
    get: (at) => (readSync(file, byte, 0, 1, at) === 1 ? byte.toString('latin1') : none),
    set: (at, result) => writeSync(writer, result, at, 'latin1'),
  };
}

/** The text of the member `body` of a line, as it is, because JavaScript rounds numbers of 64 bits. */
const bodyOf = (line) => line.slice(line.indexOf(',"body":') + ',"body":'.length, -1);
const json = { 'Content-Type': 'application/json' };

/** Sends one line. With `orElse`, a receiver that refuses the body gets those members instead: svc has other names of events. */
async function sendLine(line) {
  const { method, path, orElse } = JSON.parse(line);
  const answer = await request(method, path, bodyOf(line), json);
  if (answer.status !== 400 || orElse === undefined) return answer;
  return request(method, path, JSON.stringify({ ...JSON.parse(bodyOf(line)), ...orElse }), json);
}

/**
 * Sends the requests of a file, up to a number at once. A change belongs to the POST before it, or to the line `of` of the documents, and is
 * sent only if this program created the thing.
 */
async function sendAll(step, most, documents) {
  const results = resultsOf(step);
  const { counts, add } = createCounts();
  const running = new Map();
  let [at, created] = [-1, none];
  const sendAt = async (place, line) => {
    const { method, path } = JSON.parse(line);
    const isBegun = results.get(place) === begun;
    results.set(place, begun);
    const answer = await sendLine(line);
    const isOwn = answer.status === 409 && (isBegun || answer.isRepeated);
    const { status, text } = isOwn ? { status: 200 } : answer;
    add({ status, text }, `${method} ${path}`);
    const result = status === 409 ? existed : status >= 200 && status < 300 ? sent : failed;
    results.set(place, result);
    return result;
  };
  for await (const line of linesOf(`${step}.ndjson`)) {
    at += 1;
    const { method, of } = JSON.parse(line);
    const before = results.get(at);
    const isCreation = method === 'POST';
    if (!isCreation && of !== undefined) created = documents.get(of);
    if (isCreation) created = before;
    if (before === sent) counts.before += 1;
    else if (isCreation ? before === existed : created !== sent) counts.existed += 1;
    else if (most === 1) {
      const result = await sendAt(at, line);
      if (isCreation) created = result;
    } else {
      const place = at;
      const sending = sendAt(place, line).finally(() => running.delete(place));
      running.set(place, sending);
      if (running.size >= most) await Promise.race(running.values());
    }
  }
  await Promise.all(running.values());
  console.log(step, JSON.stringify(counts));
  return results;
}

/** Sends a file, in chunks if it is large. */
async function sendFile({ bucketId, fileId, name, permissions, mimeType }, add) {
  const blob = await openAsBlob(join(directory, 'files', bucketId, fileId), { type: mimeType });
  const path = `/storage/buckets/${bucketId}/files`;
  const there = await request('GET', `${path}/${fileId}`);
  if (there.status === 200) {
    const { chunksTotal, chunksUploaded } = JSON.parse(there.text);
    if (chunksUploaded >= chunksTotal) return add({ status: 409 }, name);
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
    if (isLast || answer.status >= 300) return add(answer, `file ${bucketId}/${fileId}`);
  }
}

try {
  await sendAll('1-teams', 1);
  await sendAll('2-users', 1);
  await sendAll('3-memberships', 1);
  const documents = await sendAll('4-documents', parallel);
  await sendAll('5-relationships', 1, documents);
  const { counts, add } = createCounts();
  for await (const line of linesOf('files.ndjson')) await sendFile(JSON.parse(line), add);
  console.log('files', JSON.stringify(counts));
  await sendAll('6-webhooks', 1);
  process.exitCode = isFailed ? 1 : 0;
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  console.error(`${endpoint} takes nothing. ${error.message}`);
  console.error('Correct the address, the project or the key, or start the receiver, and run this again: it goes on.');
  process.exit(1);
}
