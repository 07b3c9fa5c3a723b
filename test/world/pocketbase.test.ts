// A PocketBase, built from its Go module, is filled through its API, imported while it runs, and its users log in here.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fill, passwords, superuser } from '../cli/pocketbase/fill.js';
import { freePort } from '../harness/free-port.js';
import { after } from '../harness/runner.js';
import { lacks, serveWorld, startServer } from './world.js';

const program = process.env.SVC_TEST_POCKETBASE ?? 'pocketbase';
const skip = lacks(program, ['--version'], 'PocketBase');

test('a running PocketBase is imported, and its users log in', { skip }, async () => {
  const world = await serveWorld({ SVC_RATE_LIMIT: 'off' });
  const { place, endpoint, project, key } = world;
  const directory = mkdtempSync(join(tmpdir(), 'svc-pocketbase-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const data = join(directory, 'pb_data');
  const [identity, password] = ['root@mail.example', 'a password of the superuser'];
  const made = spawnSync(program, ['superuser', 'upsert', identity, password, `--dir=${data}`]);
  assert.equal(made.status, 0, String(made.stderr));
  const url = `http://127.0.0.1:${await freePort()}`;
  await startServer(program, ['serve', `--http=${new URL(url).host}`, `--dir=${data}`], `${url}/api/health`);
  const send = await superuser(url, identity, password);
  await fill(send);

  type Report = { kinds: { kind: string; created: number; changed: number; failed: number }[] };
  const imported = () => place.json<Report>(['import', 'pocketbase', data, '--project', project]);
  const first = await imported();
  assert.equal(first.kinds.find(({ kind }) => kind === 'users')?.created, 3);
  for (const [name, word] of Object.entries(passwords)) {
    const login = await fetch(`${endpoint}/account/sessions/email`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Service-Project': project },
      body: JSON.stringify({ email: `${name}@mail.example`, password: word }),
    });
    assert.equal(login.status, 201, name + world.log());
  }
  for (const { kind, created, changed, failed } of (await imported()).kinds)
    assert.deepEqual([created, changed, failed], [0, 0, 0], kind);

  // The change is in the write-ahead log of the running server.
  const id = 'second'.padEnd(15, '0');
  await send('PATCH', `collections/posts/records/${id}`, { title: 'Changed at the source' });
  await imported();
  const document = await fetch(`${endpoint}/databases/pocketbase/collections/posts/documents/${id}`, {
    headers: { 'X-Service-Project': project, 'X-Service-Key': key },
  });
  assert.equal(((await document.json()) as { title: string }).title, 'Changed at the source');
});
