// The web SDK's socket in a real browser: two users on pages of their own, each at another server process, and one collection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { aBackend } from '../documents/setup.js';
import { numbered } from '../feed/sse.js';
import { eventually } from '../webhooks/setup.js';
import { onPage, servePage } from './page.js';
import { scene } from './scene.js';

/** Signs somebody up on a page, and logs in there. */
async function enter(page: Page, name: string): Promise<void> {
  const person = { userId: name, email: `${name}@shop.test`, password: 'tall-green-bicycle' };
  const made = await page.evaluate(`attempt((account) => account.create(${JSON.stringify(person)}))`);
  assert.ok((made as { value?: unknown }).value, JSON.stringify(made));
  const entered = await page.evaluate(
    `attempt((account) => account.createEmailPasswordSession(${JSON.stringify(person)}))`,
  );
  assert.ok((entered as { value?: unknown }).value, JSON.stringify(entered));
  assert.equal((await onPage(page, (account) => account.get())).value?.$id, name);
}

/** Subscribes the page to a channel, and keeps the numbers of the documents that it is told of. */
const subscribe = (page: Page, channel: string) =>
  page.evaluate(
    `globalThis.told = []; client.subscribe('${channel}', ({ payload }) => told.push(payload.n)); undefined`,
  );
const told = async (page: Page) => (await page.evaluate('told')) as number[];

test('each of two users gets exactly the events it may read, and a revoked session is cut off', (t) =>
  scene(t, 'localhost', async ({ service, browser, open }) => {
    const sibling = await service.startSibling();
    const site = await servePage(`${sibling.origin.replace('127.0.0.1', 'localhost')}/v1`, service.project.id);
    const other = await browser.browser()?.newContext();
    try {
      const ada = await open('localhost');
      const bob = await other?.newPage();
      assert.ok(bob);
      await bob.goto(`http://localhost:${site.port}/`);
      await enter(ada, 'ada');
      await enter(bob, 'bob');
      const { key, collection } = await aBackend(service);
      const { documents, databaseId, id } = await collection({
        attributes: { n: { type: 'integer' } },
        documentSecurity: true,
      });
      const write = async (n: number, permissions: string[]) =>
        (await key.post(documents, { documentId: 'unique()', data: { n }, permissions })).expect(201);
      const sockets = [ada, bob].map((page) => page.waitForEvent('websocket'));
      for (const page of [ada, bob]) await subscribe(page, `databases.${databaseId}.collections.${id}.documents`);
      const [socketOfAda] = await Promise.all(sockets);
      // The SDK does not tell when it has subscribed: a document for both shows it.
      await eventually(async () => {
        await write(0, ['read("users")']);
        assert.ok((await told(ada)).length > 0 && (await told(bob)).length > 0);
      });
      await numbered(service);
      const readers = [['read("user:ada")'], ['read("user:bob")'], ['read("users")'], []];
      for (let n = 1; n <= 40; n += 1) await write(n, readers[n % readers.length] ?? []);
      const expected = (kinds: readonly number[]) =>
        Array.from({ length: 40 }, (_, at) => at + 1).filter((n) => kinds.includes(n % readers.length));
      await eventually(async () => {
        assert.deepEqual(
          (await told(ada)).filter((n) => n > 0),
          expected([0, 2]),
        );
        assert.deepEqual(
          (await told(bob)).filter((n) => n > 0),
          expected([1, 2]),
        );
      });

      const closed = socketOfAda?.waitForEvent('close', { timeout: 10_000 });
      const before = performance.now();
      (await key.delete('/users/ada/sessions')).expect(204);
      await closed;
      // A second, and time for a machine that does other things as well.
      assert.ok(performance.now() - before < 3000);
      await write(41, ['read("users")']);
      await eventually(async () => assert.ok((await told(bob)).includes(41)));
      assert.ok(!(await told(ada)).includes(41));
    } finally {
      await site.close();
    }
  }));
