// Whole numbers beyond 2^53 in every body: kept exactly where free JSON is kept, otherwise refused, and never an error of ours.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { byGet } from '../documents/graphql.js';
import { aBackend } from '../documents/setup.js';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import type { Client } from '../harness/client.js';
import { aTeam } from '../teams/setup.js';

const target = await startAppliance();
const user = await aLoggedInUser(target);
const other = await aLoggedInUser(target);
const team = await aTeam(target);
const { client: key } = await aServerKey(target);

const numbers = [
  ...['9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808', '18446744073709551616'],
  ...[`1${'0'.repeat(400)}1`, '9'.repeat(1000)],
];
const tooLarge = ['1'.repeat(1001), '1e400', '-1e400', `${'1'.repeat(400)}.5`, '1E+0309'];

/** [whose preferences, who calls, where] */
const kept: readonly [string, Client, string][] = [
  ["one's own", user.client, '/account/prefs'],
  ['of a user, by a key', key, `/users/${other.id}/prefs`],
  ['of a team', team.owner.client, `${team.path}/prefs`],
];

for (const [whose, client, path] of kept) {
  const write = (prefs: string) =>
    client.request(
      path.startsWith('/account') || path.startsWith('/users') ? 'PATCH' : 'PUT',
      path,
      `{"prefs":${prefs}}`,
    );
  test(`preferences ${whose} keep whole numbers exactly`, async () => {
    for (const number of numbers) {
      const prefs = `{"n":${number},"list":[${number},1],"in":{"deep":[{"n":${number}}]},"text":"x"}`;
      assert.ok((await write(prefs)).expect(200).text.includes(`"n":${number}`));
      assert.equal((await client.get(path)).expect(200).text, prefs);
    }
    // What holds them is answered in other places too.
    for (const place of [path.replace(/\/prefs$/, ''), path.replace(/\/[^/]+\/prefs$/, '')].filter((one) => one !== ''))
      assert.ok((await client.get(place)).expect(200).text.includes('9'.repeat(1000)), place);
    await write('{}');
  });
  test(`preferences ${whose} refuse what would come back as something else`, async () => {
    for (const number of tooLarge) {
      const answer = await write(`{"in":[{"n":${number}}]}`);
      assert.match(answer.refused(400, 'general_argument_invalid').string('message'), /number/);
    }
    assert.equal((await client.get(path)).text, '{}');
  });
}

test('a number of millions of digits delays no other request', async () => {
  const { collection } = await aBackend(target);
  const { documents } = await collection({ attributes: { n: { type: 'integer' } } });
  const began = performance.now();
  (await key.post(documents, `{"documentId":"x","data":{"n":${'1'.repeat(4_000_000)}}}`)).refused(
    400,
    'general_argument_invalid',
  );
  assert.ok(performance.now() - began < 3000);
});

test('every operation with a body takes or refuses such numbers in each member', async () => {
  const { collection, databaseId } = await aBackend(target);
  const { id: collectionId, documents } = await collection({
    attributes: { n: { type: 'integer' }, integer: { type: 'integer' }, float: { type: 'float' } },
  });
  (await key.post(documents, { documentId: 'one', data: {} })).expect(201);
  const hook = { webhookId: 'hook', name: 'Hook', url: 'https://hook.example', events: ['*'] };
  (await key.post('/webhooks', hook)).expect(201);
  const ids: Readonly<Record<string, string>> = {
    ...{ databaseId, collectionId, documentId: 'one', userId: other.id, teamId: team.id, webhookId: 'hook' },
  };
  let asked = 0;
  for (const { declaration } of target.appliance.features.operations) {
    const { method, path, input: { body } = {} } = declaration;
    if (!(body instanceof z.ZodObject) || method === 'GET') continue;
    const place = path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? (name === 'key' ? 'n' : 'x'));
    for (const client of [user.client, team.owner.client, key]) {
      for (const member of Object.keys(body.shape)) {
        for (const value of ['9007199254740993', '[9007199254740993]', '{"n":[9223372036854775808]}']) {
          const rest = {
            key: `k${asked}`,
            required: false,
            array: false,
            default: null,
            documentId: 'unique()',
            data: {},
          };
          const members = Object.entries({ ...rest, [member]: undefined }).filter(([, one]) => one !== undefined);
          const text = [...members.map(([name, one]) => `"${name}":${JSON.stringify(one)}`), `"${member}":${value}`];
          const answer = await client.request(method, place, `{${text.join()}}`);
          assert.ok(answer.status < 500, `${method} ${place} {${text}} answers ${answer.status} ${answer.text}`);
          asked += 1;
        }
      }
    }
  }
  assert.ok(asked > 500);
});

test('variables of GraphQL keep whole numbers exactly, in a body and in an address', async () => {
  const { collection, databaseId } = await aBackend(target);
  const { id: collectionId } = await collection({
    attributes: { n: { type: 'integer' }, s: { type: 'string', size: 9 } },
  });
  const of = `databaseId: "${databaseId}", collectionId: "${collectionId}"`;
  const create = `mutation ($data: JSON!) { documentCreate(${of}, documentId: "unique()", data: $data) { data } }`;
  const ask = (data: string) =>
    key.post('/graphql', `{"query":${JSON.stringify(create)},"variables":{"data":${data}}}`);
  for (const number of ['9007199254740993', '9223372036854775807', '-9223372036854775808'])
    assert.ok((await ask(`{"n":${number}}`)).expect(200).text.includes(`"n":${number}`));
  for (const data of [
    '{"n":9223372036854775808}',
    '{"s":9007199254740993}',
    '[9007199254740993]',
    '9007199254740993',
  ]) {
    const { text } = await ask(data);
    assert.match(text, /document_invalid_structure|general_argument_invalid/);
  }
  (await ask('{"n":1e400}')).refused(400, 'general_argument_invalid');
  const read = byGet('query ($v: JSON!) { __typename }', { variables: '{"v":9007199254740993}' });
  assert.ok((await key.get(read)).status < 500);
});
