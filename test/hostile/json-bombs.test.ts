// Small members by the hundred thousand, and SAML responses that have to be canonicalised: whoever reads meanwhile waits no longer than usual.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import WebSocket from 'ws';
import { after } from '../harness/runner.js';
import { documentOf, encoded, own, partsOf, signed, stranger } from '../saml/forge.js';
import { startGround } from './ground.js';

/** Far above what a read takes, as the machine does other things too; parsing such bodies took 5 to 18 seconds. */
const longestMs = 3000;
const atOnce = 8;

const ground = await startGround({ SVC_RATE_LIMIT: 'off' });
after(() => ground.dispose());
const guest = { 'X-Service-Project': ground.projectId };

/** Runs an attack while a user of another project reads, and compares the longest wait. */
async function during<T>(t: { diagnostic(text: string): void }, attack: () => Promise<T>): Promise<T> {
  await post('/account/sessions/anonymous', '{}');
  const endWatch = ground.watch();
  const result = await attack();
  const { worst, p99, requests, lag, failures } = await endWatch();
  t.diagnostic(`${requests} reads, worst ${Math.round(worst)} ms, p99 ${Math.round(p99)} ms, timers late ${lag} ms`);
  assert.deepEqual(failures, []);
  assert.ok(worst < longestMs, `${worst} ms`);
  return result;
}

async function post(path: string, body: string, headers: Readonly<Record<string, string>> = guest): Promise<number> {
  const response = await fetch(ground.server.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
    redirect: 'manual',
  });
  await response.text();
  return response.status;
}

/** Posts a body `rounds` times, eight at once, and returns the statuses. */
async function storm(path: string, body: string, rounds = 5): Promise<number[]> {
  const statuses: number[] = [];
  for (let round = 0; round < rounds; round++)
    statuses.push(...(await Promise.all(Array.from({ length: atOnce }, () => post(path, body)))));
  return [...new Set(statuses)].sort();
}

const numbers = Array.from({ length: 400_000 }, (_, at) => at.toString(36));
const bombs = {
  members: `{"documentId":"a","data":{${numbers.map((name) => `"${name}":1`).join(',')}}}`,
  lists: `{"documentId":"a","data":{"x":[${numbers.map(() => '[]').join(',')}]}}`,
  digits: `{"documentId":"a","data":{"x":${'1'.repeat(3_000_000)}}}`,
  'a long text and a long number': `{"documentId":"a","data":{"x":"${'x'.repeat(3_000_000)}","y":12345678901234567890}}`,
};
for (const [name, body] of Object.entries(bombs))
  test(`3 MB of ${name} from a guest, ${atOnce} at once`, async (t) => {
    const refused = name.startsWith('a long') ? 404 : 400;
    const documents = await during(t, () => storm('/databases/a/collections/b/documents', body));
    assert.deepEqual(documents, [refused]);
    assert.deepEqual(await storm('/webhooks', body, 1), [413], 'a route without documents');
  });

test('GraphQL: variables as text are bounded like those of a body', async (t) => {
  const variables = `[${Array(300_000).fill('{}').join(',')}]`;
  const body = JSON.stringify({ query: '{ __typename }', variables: `{"a":${variables}}` });
  assert.deepEqual(await during(t, () => storm('/graphql', body)), [400]);
});

test('frames of 256 KB with nothing but empty lists', async (t) => {
  const frame = `{"type":"subscribe","data":[${Array(85_000).fill('[]').join(',')}]}`;
  await during(t, async () => {
    const sockets = await Promise.all(Array.from({ length: atOnce }, open));
    const answers = await Promise.all(
      sockets.map(async (socket) => {
        const answer = nextMessage(socket);
        for (let at = 0; at < 5; at++) socket.send(frame);
        return answer;
      }),
    );
    for (const answer of answers) assert.match(answer, /"error".*1003.*at most 5000 members/);
    for (const socket of sockets) socket.terminate();
  });
});

test('40 wrongly signed SAML responses at once to a provider that begins logins', async (t) => {
  const cert = join(ground.dir, 'idp.pem');
  writeFileSync(cert, own.cert);
  const page = ['--idp-initiated', 'on', '--idp-initiated-page', 'http://localhost:3000/in'];
  const at = ['--project', ground.projectId, '--key', 'corp', '--idp-entity-id', 'https://corp.example'];
  const login = ['--sso-url', 'https://corp.example/sso', '--cert-file', cert];
  await ground.json(['provider', 'add', 'saml', ...at, ...login, ...page]);
  const acs = `/account/sessions/saml/corp/acs?project=${ground.projectId}`;
  const said = {
    ...{ issuer: 'https://corp.example', audience: 'x', acs: ground.server.url + acs, requestId: undefined },
    attributes: Object.fromEntries(Array.from({ length: 900 }, (_, one) => [`a${one}`, ['x'.repeat(100)]])),
  };
  const response = encoded(signed(documentOf(partsOf(said)), { identity: stranger }));
  const body = new URLSearchParams({ SAMLResponse: response }).toString();
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const statuses = await during(t, () => Promise.all(Array.from({ length: 40 }, () => post(acs, body, form))));
  const of = (status: number) => statuses.filter((one) => one === status).length;
  assert.equal(of(401) + of(503), 40, String(statuses));
  assert.ok(of(401) >= 8 && of(503) > 0, String(statuses));
  assert.equal(await post(acs, body, form), 401, 'there is room again');
});

async function open(): Promise<WebSocket> {
  const socket = new WebSocket(`${ground.server.url.replace('http', 'ws')}/realtime?project=${ground.projectId}`);
  socket.on('error', () => {});
  assert.match(await nextMessage(socket), /connected/);
  return socket;
}

function nextMessage(socket: WebSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('message', (data) => resolve(String(data)));
    socket.once('close', (code) => reject(new Error(`closed with ${code}`)));
  });
}
