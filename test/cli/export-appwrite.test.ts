// svc export --format appwrite: a project leaves svc as requests that the API of Appwrite takes; here another svc takes them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type Installation, install, type Server } from '../harness/cli.js';
import {
  assertAllLogIn,
  fillProject,
  keyedProject,
  readProject,
  type ServedProject,
} from '../harness/whole-project.js';

let place: Installation;
let other: Installation;
let server: Server;
let otherServer: Server;
let shop: ServedProject;
before(async () => {
  [place, other] = await Promise.all([install(), install()]);
  // Appwrite cannot verify hashes of svc's scrypt.
  for (const one of [place, other]) Object.assign(one.env, { SVC_RATE_LIMIT: 'off', SVC_PASSWORD_HASH: 'argon2id' });
  [server, otherServer] = await Promise.all([place.serve(), other.serve()]);
  shop = await keyedProject(place, server, 'shop');
  await fillProject(shop);
});
after(() => Promise.all([place?.dispose(), other?.dispose()]));

test('an exported project is the same after its requests were sent, also twice', async () => {
  const exported = await place.json<{ unsupported: { kind: string }[] }>([
    ...['export', '--project', 'shop', '--format', 'appwrite', '--to', 'out'],
  ]);
  assert.deepEqual(
    exported.unsupported.map(({ kind }) => kind),
    ['keys'],
  );
  const out = join(place.dir, 'out');
  for (const [name, mode] of [
    ['', 0o700],
    ['2-users.ndjson', 0o600],
    ['files/pictures', 0o700],
    ['files/pictures/large', 0o600],
  ] as const)
    assert.equal(statSync(join(out, name)).mode & 0o777, mode, name);
  const again = await place.svc(['export', '--project', 'shop', '--format', 'appwrite', '--to', 'out']);
  assert.deepEqual([again.code, /has files in it/.test(again.err)], [2, true], again.err);

  const copy = await keyedProject(other, otherServer, 'copy');
  await other.json(['project', 'apply', '--file', join(out, 'appwrite.config.json'), '--project', 'copy']);
  const env = {
    ...process.env,
    APPWRITE_ENDPOINT: copy.url,
    APPWRITE_PROJECT_ID: copy.project,
    APPWRITE_API_KEY: copy.key,
  };
  for (const run of ['first', 'second']) {
    const { stdout } = await promisify(execFile)(process.execPath, [join(out, 'send.mjs')], { env });
    assert.match(stdout, /files \{"sent":\d+,"existed":\d+,"failed":0\}/, run);
  }
  const [there, here] = [await readProject(shop), await readProject(copy)].map(withoutTimes);
  assert.deepEqual(here, there);
  await assertAllLogIn(copy);
  assert.doesNotMatch(readFileSync(join(out, '4-documents.ndjson'), 'utf8'), /"author"|"tags"/);
});

/** Removes members that the API sets itself: ids and times of memberships, times of users and files. */
function withoutTimes(project: Record<string, unknown>): unknown {
  const own = ['invited', 'joined', 'passwordUpdate'];
  return JSON.parse(JSON.stringify(project), function (this: Record<string, unknown>, name, value) {
    if (own.includes(name) || (name === '$id' && 'teamName' in this)) return '';
    return ['$createdAt', '$updatedAt'].includes(name) && 'sizeOriginal' in this ? '' : value;
  });
}
