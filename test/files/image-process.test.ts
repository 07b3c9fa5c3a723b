// The process that converts images: what it takes is nobody else's, and it goes with the server and when there is nothing to do.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { install, type Server } from '../harness/cli.js';
import { highestBytes, residentBytes } from '../harness/memory.js';
import { after } from '../harness/runner.js';
import { formOf } from './setup.js';

const mebibyte = 1024 * 1024;
const skip = process.platform !== 'linux' && 'processes are read from /proc';
const place = await install();
after(() => place.dispose());
Object.assign(place.env, { SVC_RATE_LIMIT: 'off', SVC_LOG_LEVEL: 'warn' });
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
const scopes = ['--name', 'test', '--scopes', 'all'];
const { secret } = await place.json<{ secret: string }>(['apikey', 'create', '--project', 'shop', ...scopes]);
const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret };
let server = await place.serve();
const files = '/storage/buckets/pictures/files';

await fetch(`${server.url}/storage/buckets`, {
  method: 'POST',
  headers: { ...headers, 'Content-Type': 'application/json' },
  body: JSON.stringify({ bucketId: 'pictures', name: 'Pictures' }),
});
const large = sharp({ create: { width: 5200, height: 5200, channels: 3, background: 'red' } });
for (const [fileId, bytes] of [
  ['small', await large.clone().resize(300, 200).jpeg().toBuffer()],
  ['jpeg', await large.clone().jpeg({ progressive: true, quality: 60 }).toBuffer()],
  ['png', await large.clone().png({ progressive: true, compressionLevel: 1 }).toBuffer()],
] as const) {
  const form = await formOf(bytes, { fileId });
  const sent = {
    method: 'POST',
    headers: { ...headers, 'Content-Type': form.type },
    body: form.bytes as Uint8Array<ArrayBuffer>,
  };
  assert.equal((await fetch(server.url + files, sent)).status, 201);
}

/** The processes that the server has started. */
function childrenOf({ pid }: Server): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => {
      try {
        return new RegExp(`^PPid:\\s+${pid}$`, 'm').test(readFileSync(`/proc/${child}/status`, 'latin1'));
      } catch {
        return false;
      }
    });
}
let asked = 0;
/** A preview that was never made before. */
const preview = async (fileId: string, query = 'width=1500&rotation=45') => {
  asked += 1;
  const answer = await fetch(`${server.url}${files}/${fileId}/preview?${query}&quality=${asked}`, { headers });
  return { status: answer.status, bytes: (await answer.arrayBuffer()).byteLength };
};
const until = async (isSo: () => boolean, what: string) => {
  for (let count = 0; !isSo(); count++) {
    assert.ok(count < 200, what);
    await sleep(50);
  }
};
/** What a process has had of the processor: `utime` of /proc, in hundredths of a second. */
const ticksOf = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[11]);
const theChild = async (): Promise<number> => {
  let found: number | undefined;
  await until(() => {
    found = childrenOf(server).find(isAlive);
    return found !== undefined;
  }, 'no process was started');
  return found ?? 0;
};

test('large previews cost the server no memory, and other users no time', { skip }, async (t) => {
  assert.equal((await preview('small')).status, 200);
  const before = residentBytes(server.pid);
  const work = Promise.all(['jpeg', 'png', 'jpeg', 'png', 'jpeg', 'png'].map((fileId) => preview(fileId)));
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  const waits: number[] = [];
  let highest = 0;
  for (let most = 0; !isDone; most = Math.max(most, ...childrenOf(server).map(highestBytes)), highest = most) {
    const started = performance.now();
    assert.equal((await fetch(`${server.url}/storage/buckets`, { headers })).status, 200);
    waits.push(performance.now() - started);
    await sleep(20);
  }
  // A machine that is too busy refuses some.
  const statuses = (await done).map(({ status }) => status);
  assert.ok(statuses.includes(200) && statuses.every((status) => [200, 503].includes(status)), statuses.join());
  waits.sort((a, b) => a - b);
  const late = waits[Math.floor(waits.length * 0.99)] ?? 0;
  const grown = highestBytes(server.pid) - before;
  t.diagnostic(
    `${waits.length} requests, p99 ${Math.round(late)} ms; server +${Math.round(grown / mebibyte)} MiB, image process ${Math.round(highest / mebibyte)} MiB`,
  );
  assert.ok(late < 3000, `${late} ms`);
  assert.ok(grown < 64 * mebibyte, `${Math.round(grown / mebibyte)} MiB`);
  // What decoders keep goes with their process.
  await until(
    () => childrenOf(server).every((child) => residentBytes(child) < 200 * mebibyte),
    'a process kept its memory',
  );
});

test('the process knows no secret, and one that is killed costs its own preview only', { skip }, async () => {
  // One that the previews before have made large is on its way out.
  assert.equal((await preview('small')).status, 200);
  await until(() => childrenOf(server).length === 1, 'a process that was replaced stays');
  const child = await theChild();
  const idle = ticksOf(child);
  const asking = preview('png');
  await until(() => ticksOf(child) > idle, 'the process does not work');
  const environment = readFileSync(`/proc/${child}/environ`, 'latin1');
  assert.doesNotMatch(environment, /SVC_/);
  const kill = async (one: number) => {
    process.kill(one, 'SIGKILL');
    await until(() => !isAlive(one), 'the process outlives SIGKILL');
  };
  await kill(child);
  assert.equal((await asking).status, 503);
  for (const afterMs of [0, 20, 100]) {
    const again = preview('jpeg');
    const one = await theChild();
    await sleep(afterMs);
    await kill(one);
    assert.equal((await again).status, 503, `${afterMs} ms`);
  }
  assert.equal((await preview('small')).status, 200);
});

test('a hanging process is killed, and the next request is served soon', { skip }, async () => {
  assert.equal((await preview('small')).status, 200);
  const child = await theChild();
  process.kill(child, 'SIGSTOP');
  const started = performance.now();
  const statuses = (await Promise.all([preview('png'), preview('small')])).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [200, 503]);
  assert.ok(performance.now() - started < 15_000);
  await until(() => !isAlive(child), 'the process is still there');
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`the process ends with the server (${signal})`, { skip }, async () => {
    const asking = preview('png').catch(() => undefined);
    const child = await theChild();
    server.signal(signal);
    await server.ended;
    await until(() => !isAlive(child), 'the process is still there');
    await asking;
    server = await place.serve();
    assert.equal((await preview('small')).status, 200);
  });
}

test('a process without work ends', { skip }, async () => {
  assert.equal((await preview('small')).status, 200);
  assert.equal(childrenOf(server).length, 1);
  await sleep(9000);
  await until(() => childrenOf(server).length === 0, 'it is still there');
});

function isAlive(pid: number): boolean {
  try {
    // One that has ended and was not waited for yet is a zombie.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}
