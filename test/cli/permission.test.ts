// svc permission explain: allowed actions of a user with reasons, compared with REST.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

interface Explained {
  readonly read: boolean;
  readonly create: boolean;
  readonly update: boolean;
  readonly delete: boolean;
  readonly because: Readonly<Record<string, string>>;
  readonly roles: readonly string[];
}

const place = await install();
after(() => place.dispose());
const ofProject = ['--project', 'shop'];
const inBlog = [...ofProject, '--database', 'blog'];
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
await place.json(['database', 'create', 'Blog', '--id', 'blog', ...ofProject]);
const { secret: key } = await place.json<{ secret: string }>([
  ...['apikey', 'create', ...ofProject, '--name', 'test', '--scopes', 'all'],
]);
const { url } = await place.serve();

/** Calls the API with the server key, or with a session. */
async function call(method: string, path: string, body?: unknown, session?: string): Promise<Response> {
  const credential = session === undefined ? { 'X-Service-Key': key } : { 'X-Service-Session': session };
  const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json', ...credential };
  return fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}
const made = async (path: string, body: unknown) => {
  const response = await call('POST', path, body);
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()) as { $id: string };
};
const explain = (collection: string, ...further: string[]) =>
  place.json<Explained>(['permission', 'explain', collection, ...further, ...inBlog]);

const collections = '/databases/blog/collections';
const password = 'a fine long password';
await made('/users', { userId: 'anna', email: 'anna@mail.example', password });
await made('/users', { userId: 'bert', email: 'bert@mail.example', password });
await made(collections, {
  collectionId: 'posts',
  name: 'Posts',
  documentSecurity: true,
  permissions: ['read("users")', 'create("users/verified")', 'delete("label:editor")'],
});
await made(`${collections}/posts/documents`, {
  documentId: 'first',
  data: {},
  permissions: ['update("user:anna")', 'read("any")'],
});
await made(collections, { collectionId: 'closed', name: 'Closed', permissions: ['read("any")'] });
await made(`${collections}/closed/documents`, { documentId: 'one', data: {}, permissions: ['update("any")'] });

test('names the permission that decides, for users and guests', async () => {
  const anna = await explain('posts', 'first', '--user', 'anna@mail.example');
  assert.deepEqual([anna.read, anna.create, anna.update, anna.delete], [true, false, true, false]);
  assert.match(anna.because.read ?? '', /read\("users"\) of the collection/);
  assert.match(anna.because.update ?? '', /update\("user:anna"\) of the document/);
  assert.match(anna.because.create ?? '', /users\/verified, and not to this user \(no address or number is verified\)/);
  assert.match(anna.because.delete ?? '', /delete is allowed to label:editor/);
  const guest = await explain('posts', 'first');
  assert.deepEqual([guest.read, guest.update, guest.roles], [true, false, ['any', 'guests']]);
  const alone = await explain('posts', '--user', 'bert');
  assert.match(alone.because.update ?? '', /documents can allow it/);
});

test('names what does not count', async () => {
  const ignored = await explain('closed', 'one', '--user', 'anna');
  assert.equal(ignored.update, false);
  assert.match(ignored.because.update ?? '', /document security is off/);
  assert.match(ignored.because.create ?? '', /no permission allows create to anybody/);
  assert.equal((await call('PUT', `${collections}/closed`, { name: 'Closed', enabled: false })).status, 200);
  assert.match((await explain('closed', '--user', 'anna')).because.read ?? '', /the collection is disabled/);
  assert.equal((await call('PATCH', '/users/bert/status', { status: false })).status, 200);
  assert.match((await explain('posts', '--user', 'bert')).because.read ?? '', /blocked/);
});

test('agrees with REST', async () => {
  const login = await call('POST', '/account/sessions/email', { email: 'anna@mail.example', password }, '');
  const { secret } = (await login.json()) as { secret: string };
  for (const labels of [[], ['editor']]) {
    assert.equal((await call('PUT', '/users/anna/labels', { labels })).status, 200);
    const { read, update, create, delete: remove } = await explain('posts', 'first', '--user', 'anna');
    const at = `${collections}/posts/documents`;
    const answers = [
      await call('GET', `${at}/first`, undefined, secret),
      await call('POST', at, { documentId: 'unique()', data: {} }, secret),
      await call('PATCH', `${at}/first`, { data: {} }, secret),
      await call('DELETE', `${at}/first`, undefined, secret),
    ];
    assert.deepEqual(
      [read, create, update, remove],
      answers.map(({ ok }) => ok),
    );
  }
});

test('an unknown user, collection or document is an error', async () => {
  for (const [given, type] of [
    [['posts', '--user', 'nobody'], 'user_not_found'],
    [['nothing'], 'collection_not_found'],
    [['posts', 'nothing'], 'document_not_found'],
  ] as const) {
    const { code, err } = await place.svc(['permission', 'explain', ...given, ...inBlog, '--json']);
    assert.deepEqual([code, JSON.parse(err).error.type], [3, type]);
  }
});
