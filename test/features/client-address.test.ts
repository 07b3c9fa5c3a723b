// Whose word counts for the address of a client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance();
const trusted = '127.0.0.0/8, 10.0.0.0/8, 2001:db8:ffff::/48';
/** [what a proxy sends, the address of the client] */
const forwarded: [string, string][] = [
  ['203.0.113.9', '203.0.113.9'],
  ['1.2.3.4, 203.0.113.9', '203.0.113.9'],
  ['1.2.3.4, 203.0.113.9, 10.0.0.5', '203.0.113.9'],
  ['203.0.113.9, 10.0.0.5, 10.1.2.3', '203.0.113.9'],
  ['10.0.0.5', '10.0.0.5'],
  ['2001:db8::7', '2001:db8::7'],
  ['203.0.113.9, 2001:db8:ffff::1', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['', '127.0.0.1'],
  ['unknown', '127.0.0.1'],
  [`<script>, ' or 1=1 --`, '127.0.0.1'],
];
test('a trusted proxy says who the client is, counted from the right', async () => {
  const proxied = await target.startSibling({ settings: { SVC_TRUSTED_PROXIES: trusted } });
  const { email, password } = await aUser(target);
  for (const [header, address] of forwarded) {
    const client = createClient(proxied, { headers: { 'X-Forwarded-For': header } });
    const answer = await client.post('/account/sessions/email', { email, password });
    assert.equal(answer.expect(201).body.ip, address, header);
  }
});

test('nobody else says who the client is', async () => {
  const others = await target.startSibling({ settings: { SVC_TRUSTED_PROXIES: '10.0.0.0/8' } });
  const { email, password } = await aUser(target);
  for (const server of [target, others]) {
    const headers = { 'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9', 'X-Real-IP': '203.0.113.9' };
    const answer = await createClient(server, { headers }).post('/account/sessions/email', { email, password });
    assert.equal(answer.expect(201).body.ip, '127.0.0.1');
  }
});
