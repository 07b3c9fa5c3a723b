// The program of docs/realtime.md for Node.js, against a server that runs: it is told what its user may read, and nothing else.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { eventually } from '../webhooks/setup.js';

const page = 'docs/realtime.md';
const saved = 'saved as watch.mjs';

test('the program for Node.js prints the changes that its user may read', async () => {
  for (const { note } of readBlocks(page)) assert.ok([saved, 'not run: a part of a page'].includes(note), note);
  const target = await startAppliance();
  const { key, collection } = await aBackend(target);
  const [ada, bob] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const orders = await collection({ documentSecurity: true });

  const place = mkdtempSync(join(tmpdir(), 'svc-watch-'));
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  const text = blockNoted(page, saved).text;
  const replaced = text
    .replace('http://localhost:8080/v1', `${target.origin}/v1`)
    .replace("'shop'", `'${target.project.id}'`)
    .replace("database('main')", `database('${orders.databaseId}')`)
    .replace("collection('orders')", `collection('${orders.id}')`);
  writeFileSync(join(place, 'watch.mjs'), replaced);
  const env = { ...process.env, SESSION: ada.secret };
  const watch = spawn(process.execPath, ['watch.mjs'], { cwd: place, env, stdio: 'pipe' });
  after(() => {
    watch.kill('SIGKILL');
    rmSync(place, { recursive: true, force: true });
  });
  let said = '';
  const hear = (part: Buffer) => {
    said += part;
  };
  watch.stdout.on('data', hear);
  watch.stderr.on('data', hear);

  let count = 0;
  const order = async (name: string, reader: { id: string }) => {
    count += 1;
    const body = { documentId: `${name}-${count}`, data: {}, permissions: [`read("user:${reader.id}")`] };
    (await key.post(orders.documents, body)).expect(201);
  };
  // The SDK does not say when the subscription holds: the first order that is told does.
  await eventually(async () => {
    await order('ada', ada);
    assert.match(said, /ada-\d/);
  });
  await order('bob', bob);
  await order('ada', ada);
  await eventually(() => assert.ok(said.includes(`ada-${count}`), said));
  for (const line of said.trim().split('\n'))
    assert.match(line, /^databases\.[^.]+\.collections\.[^.]+\.documents\.(ada-\d+)\.create \1$/);
});
