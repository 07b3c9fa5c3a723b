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

test('what is beyond a limit or no request of GraphQL is 400, whatever the client accepts', async () => {
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

test('an Idempotency-Key is refused, as nothing could keep the promise', async () => {
  for (const path of ['/graphql', '/graphql/mutation'])
    (await guest.post(path, { query: '{ __typename }' }, { 'Idempotency-Key': 'k' })).refused(
      400,
      'general_argument_invalid',
    );
});
