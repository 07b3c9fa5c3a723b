// The program of docs/realtime.md for Node.js, against a server that runs: it is told what its user may read, and nothing else.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';
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
  after(() => rmSync(place, { recursive: true, force: true }));
  const watch = (session?: string) => {
    const { SESSION: _, ...env } = process.env;
    const child = spawn(process.execPath, ['watch.mjs'], {
      cwd: place,
      env: session === undefined ? env : { ...env, SESSION: session },
      stdio: 'pipe',
    });
    after(() => child.kill('SIGKILL'));
    const heard = { said: '' };
    const hear = (part: Buffer) => {
      heard.said += part;
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    return heard;
  };
  let count = 0;
  const order = async (name: string, role: string) => {
    count += 1;
    const body = { documentId: `${name}-${count}`, data: {}, permissions: [`read("${role}")`] };
    (await key.post(orders.documents, body)).expect(201);
  };
  const onlyOrders = (name: string, { said }: { said: string }) => {
    for (const line of said.trim().split('\n'))
      assert.match(
        line,
        new RegExp(`^databases\\.[^.]+\\.collections\\.[^.]+\\.documents\\.(${name}-\\d+)\\.create \\1$`),
      );
  };
  const user = watch(ada.secret);
  // The SDK does not say when the subscription holds: the first order that is told does.
  await eventually(async () => {
    await order('ada', `user:${ada.id}`);
    assert.match(user.said, /ada-\d/);
  });
  await order('bob', `user:${bob.id}`);
  await order('ada', `user:${ada.id}`);
  await eventually(() => assert.ok(user.said.includes(`ada-${count}`), user.said));
  onlyOrders('ada', user);

  const guest = watch();
  await eventually(async () => {
    await order('any', 'any');
    assert.match(guest.said, /any-\d/);
  });
  onlyOrders('any', guest);
});
