// Whose word counts for the address of a client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { hour } from '../harness/clock.js';

const target = await startAppliance();
const trusted = '127.0.0.0/8, 10.0.0.0/8, 2001:db8:ffff::/48';
const proxied = await target.startSibling({ settings: { SVC_TRUSTED_PROXIES: trusted } });
/** The address that the server takes for that of a client. */
async function addressOf(header: string): Promise<unknown> {
  const client = createClient(proxied, { headers: { 'X-Forwarded-For': header } });
  return (await client.post('/account/sessions/anonymous')).expect(201).body.ip;
}

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
/** Other forms in which proxies write 203.0.113.9, 2001:db8::7 and the trusted 10.0.0.5. */
const ipv4 = [
  '203.0.113.9:1234',
  '"203.0.113.9"',
  '"203.0.113.9:1234"',
  '[203.0.113.9]:1234',
  '::ffff:cb00:7109',
  '::FFFF:203.0.113.9',
  '0:0:0:0:0:ffff:203.0.113.9',
  '[::ffff:203.0.113.9]:443',
  '"[::ffff:cb00:7109]:443"',
];
const ipv6 = ['2001:DB8:0::7', '[2001:db8::7]', '[2001:db8::7]:443', '"[2001:db8::7]:443"', '2001:db8::7%eth0'];
const proxies = ['10.0.0.5:80', '"10.0.0.5"', '::ffff:10.0.0.5', '[::ffff:a00:5]:80'];
/** What names no address. */
const nameless = [
  'unknown',
  'unix:',
  '_hidden',
  '"_hidden:1"',
  '',
  '""',
  '[]',
  '[:443',
  'localhost',
  '203.0.113.9:',
  '203.0.113:80',
];
const spelled: [string, string][] = [
  ...ipv4.map((entry): [string, string] => [entry, '203.0.113.9']),
  ...ipv6.map((entry): [string, string] => [entry, '2001:db8::7']),
  ...proxies.map((entry): [string, string] => [`203.0.113.9, ${entry}`, '203.0.113.9']),
];

test("a trusted proxy determines the client's address, counted from the right", async () => {
  for (const [header, address] of forwarded) assert.equal(await addressOf(header), address, header);
});

test('a proxy may write a port, brackets or quotes, and IPv4 as IPv6; entries written by the client do not count', async () => {
  for (const [header, address] of spelled)
    for (const lie of ['', '1.2.3.4, ', '2001:db8:1::1, ', '"1.2.3.4, '])
      assert.equal(await addressOf(lie + header), address, lie + header);
});

test("an entry without an address stands for the proxy that wrote it, not for a client of the caller's choice", async () => {
  for (const entry of nameless) {
    for (const lie of ['1.2.3.4', '2001:db8:1::1', '1.2.3.4:5', '10.9.9.9'])
      assert.equal(await addressOf(`${lie}, ${entry}`), '127.0.0.1', `${lie}, ${entry}`);
    assert.equal(await addressOf(`1.2.3.4, ${entry}, 10.0.0.5`), '10.0.0.5', `${entry}, 10.0.0.5`);
    assert.equal(await addressOf(`1.2.3.4, ${entry}, 203.0.113.9`), '203.0.113.9', `${entry}, 203.0.113.9`);
  }
});

test('a client that writes another address each time is counted as one, however its proxy writes entries', async () => {
  const settings = { SVC_TRUSTED_PROXIES: trusted, SVC_RATE_LIMITS: 'anonymous=3/3600' };
  const server = await target.startSibling({ settings });
  for (const entry of ['203.0.113.9:1', '[2001:db8::7]:1', '[::ffff:cb00:7109]:1', 'unknown', 'unix:', '']) {
    target.clock.advance(hour);
    const statuses: number[] = [];
    for (let count = 0; count < 4; count++) {
      const header = `198.51.100.${count}, ${entry.replace(':1', `:${1000 + count}`)}`;
      const client = createClient(server, { headers: { 'X-Forwarded-For': header } });
      statuses.push((await client.post('/account/sessions/anonymous')).status);
    }
    assert.deepEqual(statuses, [201, 201, 201, 429], entry);
  }
});

test("other senders cannot set the client's address", async () => {
  const others = await target.startSibling({ settings: { SVC_TRUSTED_PROXIES: '10.0.0.0/8' } });
  const { email, password } = await aUser(target);
  for (const server of [target, others]) {
    const headers = { 'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9', 'X-Real-IP': '203.0.113.9' };
    const answer = await createClient(server, { headers }).post('/account/sessions/email', { email, password });
    assert.equal(answer.expect(201).body.ip, '127.0.0.1');
  }
});
