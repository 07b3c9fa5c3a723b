// DNS rebinding: an installation on localhost answers to names of this machine only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { exchangeBytes, parseAnswer } from '../harness/socket.js';

const local = await startAppliance();
const local6 = await startAppliance({ settings: { SVC_BASE_URL: 'http://[::1]:8080/v1' } });
const published = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });

const asks = ['GET /healthz', 'GET /metrics', 'GET /v1/ping', 'GET /v1/account', 'OPTIONS /v1/account', 'GET /nowhere'];

async function ask(target: TestAppliance, line: string, host: string | undefined) {
  const headers = [...(host === undefined ? [] : [`Host: ${host}`]), 'X-Service-Project: main', 'Connection: close'];
  const version = host === undefined ? 'HTTP/1.0' : 'HTTP/1.1';
  return parseAnswer(await exchangeBytes(target, `${line} ${version}\r\n${headers.join('\r\n')}\r\n\r\n`));
}

const own = [
  ...['localhost', 'localhost:8080', 'LOCALHOST', 'localhost.', 'app.localhost:1', '127.0.0.1', '127.0.0.1:8080'],
  ...['127.1.2.3', '[::1]', '[::1]:8080', undefined],
];
const others = [
  ...['evil.example', 'evil.example:8080', 'localhost.evil.example', 'evil-localhost', '127.0.0.1.evil.example'],
  ...[
    '192.168.1.2',
    '0.0.0.0',
    '[::]',
    '[::ffff:127.0.0.1]',
    '10.0.0.1:8080',
    'localhost.localdomain',
    '',
    'localhost@evil',
  ],
  ...['localhost:80:80', 'localhost/evil', 'localhost evil', 'xn--localhost', '1270.0.0.1', '128.0.0.1'],
];

for (const host of own) {
  test(`an installation on localhost answers to ${host ?? 'a request without Host'}`, async () => {
    for (const target of [local, local6])
      for (const line of asks) assert.notEqual((await ask(target, line, host)).status, 421, line);
  });
}
for (const host of others) {
  test(`an installation on localhost does not answer to "${host}"`, async () => {
    for (const target of [local, local6])
      for (const line of asks) {
        const answer = await ask(target, line, host);
        // Node itself may find that this is no Host at all.
        if (answer.status === 400) continue;
        answer.refused(421, 'general_host_unknown');
        assert.ok(answer.headers.has('X-Request-Id'));
      }
  });
}

test('an installation with a public address does not judge names: its proxy may have others', async () => {
  for (const host of [...own, ...others])
    for (const line of asks) assert.notEqual((await ask(published, line, host)).status, 421, `${line} ${host}`);
});
