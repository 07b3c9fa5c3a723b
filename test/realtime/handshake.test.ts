// Requests at the address of the sockets that open none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { exchangeBytes, parseAnswer, requestText } from '../harness/socket.js';

const target = await startAppliance();
const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

test('a request without a handshake is answered 426 with the protocol, and its page may read it', async () => {
  const guest = createClient(target).with({ project: null });
  const answer = (await guest.get('/realtime?project=main', { Origin: 'http://localhost:5173' })).refused(
    426,
    'general_upgrade_required',
  );
  assert.equal(answer.headers.get('Upgrade'), 'websocket');
  assert.equal(answer.headers.get('Connection'), 'Upgrade');
  assert.equal(answer.headers.get('Access-Control-Allow-Origin'), 'http://localhost:5173');
  assert.equal((await guest.request('HEAD', '/realtime')).status, 426);
  // Another protocol than that of sockets is none for this address either.
  const cleartext = requestText('GET', '/v1/realtime', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c']);
  parseAnswer(await exchangeBytes(target, cleartext)).refused(426, 'general_upgrade_required');
  (await guest.get('/realtime/x')).refused(404, 'general_route_not_found');
  target.verifyAnswers();
});

for (const [method, headers] of [
  ['POST', []],
  ['DELETE', []],
  ['POST', [...upgrade, key, 'Sec-WebSocket-Version: 13']],
] as const)
  test(`${method} is answered 405 ${headers.length > 0 ? 'also with a handshake' : ''}`, async () => {
    const answer = parseAnswer(await exchangeBytes(target, requestText(method, '/v1/realtime', [...headers])));
    answer.refused(405, 'general_method_unsupported');
    assert.equal(answer.headers.get('Allow'), 'GET, HEAD, OPTIONS');
  });

for (const [what, headers, status, type] of [
  ['of another version', [key, 'Sec-WebSocket-Version: 7'], 426, 'general_upgrade_required'],
  ['without a version', [key], 426, 'general_upgrade_required'],
  ['without a key', ['Sec-WebSocket-Version: 13'], 400, 'general_bad_request'],
  ['with a wrong key', ['Sec-WebSocket-Key: no', 'Sec-WebSocket-Version: 13'], 400, 'general_bad_request'],
  [
    'with a wrong protocol',
    [key, 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Protocol: ,'],
    400,
    'general_bad_request',
  ],
] as const)
  test(`a handshake ${what} is answered ${status} with the envelope and the version`, async () => {
    const text = requestText('GET', '/v1/realtime?project=main', [...upgrade, ...headers]);
    const answer = parseAnswer(await exchangeBytes(target, text)).refused(status, type);
    assert.equal(answer.headers.get('Sec-WebSocket-Version'), '13');
  });
