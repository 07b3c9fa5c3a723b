// The one way out: addresses that no outbound call may reach, against listeners that would notice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '#src/contract/errors.js';
import { startAppliance } from '../harness/appliance.js';
import { withNames } from '../harness/names.js';
import { startReceiver } from '../harness/receiver.js';

const target = await startAppliance();
const open = await target.startSibling({ settings: { SVC_WEBHOOK_ALLOW_INSECURE: 'true' } });
const listed = await target.startSibling({ settings: { SVC_EGRESS_ALLOW: '127.0.0.0/8' } });
const receiver = await startReceiver();
const receiver6 = await startReceiver('::1').catch(() => undefined);
const call = (url: string, of = target) =>
  of.appliance.runtime.egress.request({ method: 'GET', url, purpose: 'test', timeoutMs: 3000, maxBytes: 1000 });

const hosts = [
  '127.0.0.1',
  '127.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '0.0.0.0',
  '0',
  '１２７.０.０.１',
  '127。0。0。1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'any.localhost',
  'any.localhost.',
  'loc%61lhost',
  'printer.local',
  'db.internal',
  'router.home.arpa',
  'intranet',
  'localhost.localdomain',
  'localhost.localdomain.',
  'localhost6.localdomain6',
  'LocalHost.LocalDomain',
  'api.default.svc',
  'api.default.svc.',
  'kubernetes.default.svc.cluster.local',
  'vault.service.consul',
  'metadata.google.internal',
  'metadata.google.internal.',
  'METADATA.GOOGLE.INTERNAL',
  'metadata.goog',
  'host.docker.internal',
  'printer.lan',
  'nas.home',
  'mail.corp',
  '1.0.0.127.in-addr.arpa',
  'hidden.onion',
  'db.internal..',
  'hooks..example.com',
  '.example.com',
  'db.intern%61l',
  'hooks%2eexample.com',
  'hooks.example.com\\.internal',
  'hooks.example.com\\@127.0.0.1',
  '127.0.0.1\\.example.com',
  '@hooks.example.com',
  `${'a'.repeat(64)}.example.com`,
  `${'a.'.repeat(130)}example.com`,
  "it's.example.com",
  '168.63.129.16',
  '0xa83f8110',
  '100.100.100.200',
  '192.0.0.192',
  '[fd00:ec2::254]',
  '[fd20:ce::254]',
];
for (const host of hosts) {
  test(`a call to ${host} is refused before anything is connected`, async () => {
    for (const port of [receiver.port, receiver6?.port ?? receiver.port]) {
      const before = [receiver.connections(), receiver6?.connections()];
      await assert.rejects(call(`https://${host}:${port}/`), { name: 'EgressRefused' });
      assert.deepEqual([receiver.connections(), receiver6?.connections()], before);
      assert.throws(() => target.appliance.runtime.egress.check(`https://${host}:${port}/`), Failure);
    }
  });
}

const literals: [string, boolean][] = [
  ...['8.8.8.8', '93.184.215.14', '[2606:4700:4700::1111]', '[2a00:1450:4001:800::200e]'].map(
    (one): [string, boolean] => [one, true],
  ),
  ...[
    '10.0.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
  ].map((one): [string, boolean] => [one, false]),
  ...['192.168.1.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'].map(
    (one): [string, boolean] => [one, false],
  ),
  ...['[fc00::1]', '[fe80::1]', '[ff02::1]', '[2001:db8::1]', '[2001::1]', '[3fff::1]', '[5f00::1]', '[100::1]'].map(
    (one): [string, boolean] => [one, false],
  ),
];
for (const [address, isPublic] of literals) {
  test(`${address} is ${isPublic ? '' : 'not '}a public address`, () => {
    const check = () => target.appliance.runtime.egress.check(`https://${address}/hook`);
    if (isPublic) check();
    else assert.throws(check, (error) => error instanceof Failure && /not public/.test(error.message));
  });
}

const forms: [string, RegExp | undefined][] = [
  ['https://hooks.example.com/in', undefined],
  ['https://hooks.example.com:8443/in', undefined],
  ['https://hooks.example.com:9000/in', undefined],
  ['http://hooks.example.com/in', /only https/],
  ['ftp://hooks.example.com/in', /only https/],
  ['file:///etc/passwd', /only https/],
  ['https://user:pass@hooks.example.com/', /user name/],
  ['https://hooks.example.com/#part', /fragment/],
  ['https://hooks.example.com:22/', /port/],
  ['https://hooks.example.com:80/', /port/],
  ['https://hooks.example.com/in\\side', /backslash/],
  ['https://hooks.example.com/in side', /white space/],
  ['https://hooks.example.com/\tin', /white space/],
  [' https://hooks.example.com/', /white space/],
  ['https:\\\\hooks.example.com/', /backslash/],
  ['https:hooks.example.com/', /backslash/],
  ['https:/hooks.example.com/', /backslash/],
  ['https:///hooks.example.com/', /backslash/],
  ['https://hooks.example.com/in?at=%5C%20@', undefined],
  ['https://HOOKS.example.com./in', undefined],
  ['https://b\u00fccher.example/in', undefined],
  ['not a url', /not a URL/],
  ['https://', /not a URL/],
];
for (const [url, rule] of forms) {
  test(`the URL ${url} is ${rule === undefined ? 'accepted' : `refused: ${rule.source}`}`, () => {
    const check = () => target.appliance.runtime.egress.check(url);
    if (rule === undefined) check();
    else assert.throws(check, (error) => error instanceof Failure && error.status === 400 && rule.test(error.message));
  });
}

for (const addresses of [['127.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['::ffff:127.0.0.1'], ['10.1.2.3'], ['::1']]) {
  test(`a public name that resolves to ${addresses.join(' and ')} is refused before anything is connected`, async () => {
    const before = receiver.connections();
    await withNames(addresses, async () => {
      await assert.rejects(call(`https://rebind.example.com:${receiver.port}/`), { name: 'EgressRefused' });
    });
    assert.equal(receiver.connections(), before);
  });
}

test('addresses listed by the operator may be reached, still over https, and the name is resolved once', async () => {
  const before = receiver.connections();
  const asked = await withNames(['127.0.0.1'], async () => {
    // The receiver speaks no TLS; that the handshake fails shows that the guard let the connection through.
    await assert.rejects(call(`https://lab.example.com:${receiver.port}/`, listed), { name: /^(?!EgressRefused)/ });
  });
  assert.equal(asked, 1);
  assert.equal(receiver.connections(), before + 1);
  await assert.rejects(call(`${receiver.origin}/`, listed), { name: 'EgressRefused' });
  await assert.rejects(call(`https://[::1]:${receiver.port}/`, listed), { name: 'EgressRefused' });
});

test('redirects are not followed', async () => {
  receiver.answer = (response) => response.writeHead(302, { Location: `${receiver.origin}/elsewhere` }).end();
  const { status } = await call(`${receiver.origin}/start`, open);
  assert.equal(status, 302);
  assert.ok(!receiver.calls.some(({ url }) => url === '/elsewhere'));
});

test('an answer is read up to its limit, and waited for up to its time', async () => {
  receiver.answer = (response) => {
    response.write('x'.repeat(5000));
  };
  assert.equal((await call(`${receiver.origin}/endless`, open)).body.length, 1000);
  receiver.answer = () => {};
  const started = performance.now();
  await assert.rejects(call(`${receiver.origin}/silent`, open));
  assert.ok(performance.now() - started < 6000);
});
