// Appwrite's SDK for React Native, unchanged. The test stands in for what the phone has: the platform, its two stores and a socket with headers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket as Socket } from 'undici';
import { after } from '../harness/runner.js';
import { lacksClients, loadClient, serveWorld } from './world.js';

/** Loads the SDK as on Android. Sockets and requests get the cookies of the answers, as on a phone. */
function loadSdk() {
  const [cookies, stored] = [new Map<string, string>(), new Map<string, string>()];
  /** The SDK never ends its heartbeat. */
  const ticking = (act: () => void, ms: number) => setInterval(act, ms).unref();
  const setItem = (name: string, value: string) => void stored.set(name, value);
  const { fetch: plainFetch, WebSocket: plainSocket } = globalThis;
  const globals = { console, setTimeout, clearTimeout, clearInterval };
  after(() => Object.assign(globalThis, { fetch: plainFetch, WebSocket: plainSocket }));
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  Object.assign(globalThis, {
    window: {
      ...globals,
      setInterval: ticking,
      localStorage: { getItem: (name: string) => stored.get(name) ?? null, setItem },
    },
    fetch: async (url: string, { headers, ...given }: RequestInit) => {
      const answer = await plainFetch(url, { ...given, headers: { ...(headers as object), Cookie: cookie() } });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      return answer;
    },
    WebSocket: class extends Socket {
      constructor(url: string, _protocols: undefined, { headers }: { headers: Record<string, string> }) {
        super(url, { headers: { ...headers, Cookie: cookie() } });
      }
    },
  });
  for (const [name, exports] of Object.entries({
    'react-native': { Platform: { OS: 'android' } },
    'expo-file-system': {},
  })) {
    const filename = loadClient.resolve(name);
    loadClient.cache[filename] = { id: filename, filename, loaded: true, exports } as NodeJS.Module;
  }
  return loadClient('react-native-appwrite');
}

test('an app signs up, logs in, writes documents and is told of them', { skip: lacksClients }, async () => {
  const { place, endpoint, project, key } = await serveWorld();
  await place.json(['platform', 'add', '--project', project, '--type', 'android', '--package', 'com.example.app']);
  const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key, 'Content-Type': 'application/json' };
  const permissions = ['create("users")', 'read("users")'];
  for (const [path, body] of [
    ['', { databaseId: 'blog', name: 'Blog' }],
    ['/blog/collections', { collectionId: 'posts', name: 'Posts', permissions }],
    ['/blog/collections/posts/attributes/string', { key: 'title', size: 80, required: true }],
  ] as const)
    assert.ok(
      (await fetch(`${endpoint}/databases${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).ok,
    );

  const { Account, Client, Databases, ID } = loadSdk();
  const client = new Client().setEndpoint(endpoint).setProject(project).setPlatform('com.example.app');
  const account = new Account(client);
  const [email, password] = ['app@mail.example', 'a long password'];
  await account.create({ userId: ID.unique(), email, password });
  await account.createEmailPasswordSession({ email, password });
  assert.equal((await account.get()).email, email);

  const told: { readonly payload: { readonly title?: string } }[] = [];
  const stop = client.subscribe('documents', (one: (typeof told)[number]) => told.push(one));
  const databases = new Databases(client);
  for (let count = 0; told.length === 0; count++) {
    const data = { title: `from an app ${count}` };
    const made = await databases.createDocument({
      databaseId: 'blog',
      collectionId: 'posts',
      documentId: ID.unique(),
      data,
    });
    assert.equal(made.title, data.title);
    await sleep(100);
  }
  assert.match(String(told[0]?.payload.title), /^from an app \d+$/);
  stop();
  client.realtime.reconnect = false;
  client.realtime.socket.close();

  await account.deleteSession({ sessionId: 'current' });
  await assert.rejects(account.get(), { code: 401 });
  client.setPlatform('com.example.other');
  await assert.rejects(account.createEmailPasswordSession({ email, password }), { type: 'general_unknown_origin' });
});
