// GraphQL over HTTP to the letter: the audits of the package graphql-http, those that say MUST, SHOULD and MAY, and what they do not ask for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverAudits } from 'graphql-http';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const guest = createClient(target);
const letter = 'application/graphql-response+json';
const fetchFn = (url: string, init: RequestInit = {}) => {
  const headers = { 'X-Service-Project': target.project.id, ...Object.fromEntries(new Headers(init.headers)) };
  return fetch(url, { ...init, headers });
};

const audits = serverAudits({ url: `${target.origin}/v1/graphql`, fetchFn });
test('there are audits', () => assert.ok(audits.length > 50));
for (const audit of audits) {
  test(`${audit.id} ${audit.name}`, async () => {
    const result = await audit.fn();
    assert.equal(result.status, 'ok', result.status === 'ok' ? '' : result.reason);
  });
}

test('the media type is the one that the client prefers, for a batch and the body of the SDKs too', async () => {
  const query = '{ __typename }';
  const accepts: readonly (readonly [string, string])[] = [
    ['*/*', 'application/json'],
    [letter, letter],
    [`${letter}, application/json;q=0.9`, letter],
    [`application/json, ${letter};q=0.5`, 'application/json'],
    [`${letter}; charset=utf-8, */*`, letter],
    [`${letter}; charset=utf-8, application/json; charset=utf-8`, letter],
    ['application/json; charset=utf-8', 'application/json'],
  ];
  for (const [Accept, type] of accepts)
    for (const body of [{ query }, [{ query }, { query }], { query: { query } }]) {
      const answer = (await guest.post('/graphql', body, { Accept })).expect(200);
      assert.equal(answer.headers.get('content-type'), `${type}; charset=utf-8`, Accept);
    }
});

test('a request beyond a limit or not of GraphQL is 400, whatever the client accepts', async () => {
  const many = `{ ${Array.from({ length: 21 }, (_, at) => `a${at}: __typename`).join(' ')} }`;
  for (const Accept of ['application/json', letter]) {
    assert.equal((await guest.post('/graphql', { query: many }, { Accept })).status, 400);
    (await guest.post('/graphql', {}, { Accept })).refused(400, 'graphql_no_query');
    (await guest.post('/graphql', Array(11).fill({ query: many }), { Accept })).refused(
      400,
      'graphql_too_many_queries',
    );
    const mutation = 'mutation { documentDelete(databaseId: "d", collectionId: "c", documentId: "i") { id } }';
    const byGet = await guest.get(`/graphql?${new URLSearchParams({ query: mutation })}`, { Accept });
    byGet.refused(405, 'graphql_method_unsupported');
    assert.equal(byGet.headers.get('allow'), 'POST');
  }
});

test('an empty operation name is none, and extensions may stand in the address', async () => {
  const query = '{ __typename }';
  (await guest.post('/graphql', { query, operationName: '', extensions: {} })).expect(200);
  for (const extensions of ['', '{}', '{"a":1}']) {
    const answer = await guest.get(`/graphql?${new URLSearchParams({ query, operationName: '', extensions })}`);
    assert.deepEqual(answer.expect(200).body, { data: { __typename: 'Query' } }, extensions);
  }
  for (const extensions of ['[]', '1', '{'])
    (await guest.get(`/graphql?${new URLSearchParams({ query, extensions })}`)).refused(
      400,
      'general_argument_invalid',
    );
});

test('subscriptions are refused with an error of GraphQL', async () => {
  const query = 'subscription S { documents } query Q { __typename }';
  for (const [Accept, status] of [
    ['application/json', 200],
    [letter, 400],
  ] as const) {
    const one = (await guest.post('/graphql', { query: 'subscription { documents }' }, { Accept })).expect(status);
    assert.match(one.text, /^\{"errors":\[\{"message":"GraphQL subscriptions are not supported/);
    const search = new URLSearchParams({ query: 'subscription { documents }' });
    assert.equal((await guest.get(`/graphql?${search}`, { Accept })).expect(status).text, one.text);
    (await guest.post('/graphql', { query, operationName: 'Q' }, { Accept })).expect(200);
  }
});

test('a persisted query is refused with the error that makes clients send the whole query', async () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
  const search = new URLSearchParams({ extensions: JSON.stringify(extensions) });
  for (const answer of [
    await guest.post('/graphql', { extensions, variables: {} }),
    await guest.post('/graphql', { documentId: 'sha256:a' }),
    await guest.get(`/graphql?${search}`),
  ]) {
    const [error] = answer.refused(400, 'graphql_no_query').list('errors');
    const code = 'PERSISTED_QUERY_NOT_SUPPORTED';
    assert.deepEqual(error, { message: 'PersistedQueryNotSupported', extensions: { code } });
  }
  (await guest.post('/graphql', { query: '{ __typename }', extensions })).expect(200);
});

test('an Idempotency-Key is refused, as nothing could keep the promise', async () => {
  for (const path of ['/graphql', '/graphql/mutation'])
    (await guest.post(path, { query: '{ __typename }' }, { 'Idempotency-Key': 'k' })).refused(
      400,
      'general_argument_invalid',
    );
});
