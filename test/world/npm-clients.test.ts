// Clients from npm that others build on: the verifiers of Svix and Standard Webhooks on a real delivery, and Apollo Client on a real project.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';
import { lacksClients, loadClient, openSettings, serveWorld } from './world.js';

test('Svix and Standard Webhooks verify a delivery, and Apollo Client reads and writes documents', {
  skip: lacksClients,
}, async () => {
  const { place, endpoint, project, key } = await serveWorld(openSettings);
  const headers = { 'X-Appwrite-Project': project, 'X-Appwrite-Key': key };
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const sent = { ...headers, 'Content-Type': 'application/json' };
    const answer = await fetch(endpoint + path, { method: 'POST', headers: sent, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, text);
    return JSON.parse(text);
  };
  await post('/databases', { databaseId: 'blog', name: 'Blog' });
  await post('/databases/blog/collections', { collectionId: 'posts', name: 'Posts' });
  const title = { key: 'title', size: 80, required: true };
  await post('/databases/blog/collections/posts/attributes/string', title);
  const receiver = await startReceiver();
  const named = ['--project', project, '--name', 'Hook', '--url', receiver.origin, '--events', 'documentCreated'];
  const { secret } = await place.json<{ secret: string }>(['webhook', 'add', ...named]);

  const { ApolloClient, HttpLink, InMemoryCache, gql } = loadClient('@apollo/client/core');
  const link = new HttpLink({ uri: `${endpoint}/graphql`, headers });
  const apollo = new ApolloClient({ link, cache: new InMemoryCache() });
  after(() => apollo.stop());
  const data = { title: 'from Apollo' };
  const created = await apollo.mutate({
    mutation: gql`mutation ($data: JSON!) {
      documentCreate(databaseId: "blog", collectionId: "posts", documentId: "one", data: $data) { id data }
    }`,
    variables: { data },
  });
  assert.deepEqual(created.data.documentCreate.data, data);
  const query = gql`query ($id: String!) { documentGet(databaseId: "blog", collectionId: "posts", documentId: $id) { id data } }`;
  const read = await apollo.query({ query, variables: { id: 'one' } });
  assert.deepEqual(read.data.documentGet.data, data);
  const { CombinedGraphQLErrors } = loadClient('@apollo/client/errors');
  await assert.rejects(apollo.query({ query, variables: { id: 'none' } }), (error: Error) => {
    assert.ok(CombinedGraphQLErrors.is(error));
    assert.match(JSON.stringify(Object(error).errors), /document_not_found/);
    return true;
  });

  while (receiver.calls.length === 0) await sleep(100);
  const [call] = receiver.calls;
  for (const name of ['svix', 'standardwebhooks']) {
    const { Webhook } = loadClient(name);
    const verified = new Webhook(secret).verify(String(call?.body), call?.headers);
    assert.equal(verified.data.title, 'from Apollo', name);
    assert.throws(() => new Webhook(secret).verify(`${call?.body} `, call?.headers), name);
  }
});
