// A real server with a collection, whose documents make the events, and with webhooks that were added by command.
import assert from 'node:assert/strict';
import { type Installation, install, type Server } from '../harness/cli.js';
import type { Receiver } from '../harness/receiver.js';
import { bodyOf } from './setup.js';

const shop = ['--project', 'shop'];

/** An installation whose servers may call this machine. */
interface Served {
  readonly place: Installation;
  serve(): Promise<Server>;
  subscribe(id: string, url: string): Promise<void>;
  unsubscribe(id: string): Promise<void>;
  /** Lets an event happen at one of the servers: a document of this id. */
  happen(server: Server, id: string): Promise<void>;
}

/** Sets up a project with a collection and a key. */
export async function installServed(): Promise<Served> {
  const place = await install();
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  place.env.SVC_RATE_LIMIT = 'off';
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await place.json(['database', 'create', 'Main', ...shop, '--id', 'main']);
  await place.json(['collection', 'create', 'Orders', ...shop, '--database', 'main', '--id', 'orders']);
  const create = ['apikey', 'create', ...shop, '--name', 'test', '--scopes', 'all'];
  const { secret } = await place.json<{ secret: string }>(create);
  const headers = { 'X-Service-Project': 'shop', 'X-Service-Key': secret, 'Content-Type': 'application/json' };
  return {
    place,
    serve: () => place.serve(),
    subscribe: async (id, url) => {
      const events = ['--url', url, '--events', 'documentCreated'];
      await place.json(['webhook', 'add', ...shop, '--id', id, '--name', id, ...events]);
    },
    unsubscribe: async (id) => void (await place.json(['webhook', 'remove', id, ...shop, '--yes'])),
    happen: async ({ url }, id) => {
      const body = JSON.stringify({ documentId: id, data: {} });
      const documents = `${url}/databases/main/collections/orders/documents`;
      const answer = await fetch(documents, { method: 'POST', headers, body });
      assert.equal(answer.status, 201, await answer.text());
    },
  };
}

/** The document that a call tells of. */
export function documentOf(call: Receiver['calls'][number]): string {
  const { data } = bodyOf(call) as { data: { $id: string } };
  return data.$id;
}
