// https as the pages describe it, in a real process: what it says of its own address agrees, and a port below 1024 needs the one right that the unit gives.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { selfSigned } from '../harness/certificate.js';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { freePort } from '../harness/free-port.js';
import { pidIn } from '../harness/pid-file.js';
import { after } from '../harness/runner.js';
import { eventually } from '../webhooks/setup.js';

const place = await install();
after(() => place.dispose());
await place.json(['project', 'create', 'Shop', '--id', 'shop']);
const { cert, key } = selfSigned(['localhost']);
const [SVC_TLS_CERT, SVC_TLS_KEY] = [join(place.dir, 'cert.pem'), join(place.dir, 'key.pem')];
writeFileSync(SVC_TLS_CERT, cert);
writeFileSync(SVC_TLS_KEY, key);
const overTls = { SVC_TLS_CERT, SVC_TLS_KEY };

type Answer = { status: number | undefined; cookies: readonly string[]; body: { servers?: { url: string }[] } };
/** A request over http or https; the certificate is the one that was made above. */
async function call(address: string, given: object = {}, body?: object): Promise<Answer> {
  const headers = { 'X-Service-Project': 'shop', 'Content-Type': 'application/json' };
  if (address.startsWith('http:')) {
    const answer = await fetch(address, { ...given, headers, body: JSON.stringify(body) });
    return {
      status: answer.status,
      cookies: answer.headers.getSetCookie(),
      body: (await answer.json()) as Answer['body'],
    };
  }
  const options: RequestOptions = { ...given, headers, ca: cert };
  return new Promise((resolve, reject) => {
    const sent = request(address, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode, cookies: answer.headers['set-cookie'] ?? [], body: JSON.parse(text) }),
      );
    }).on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

for (const scheme of ['http', 'https'])
  test(`over ${scheme} the ready line, the server of the OpenAPI document and the cookie agree`, async () => {
    const port = String(await freePort());
    const base = `${scheme}://localhost:${port}/v1`;
    const tls = scheme === 'https' ? overTls : {};
    const server = await place.serve([], { ...tls, SVC_PORT: port, SVC_BASE_URL: base });
    assert.equal(server.url, base);
    const { servers } = (await call(`${base}/openapi.json`)).body;
    assert.deepEqual(servers, [{ url: base }]);
    const user = { userId: 'unique()', email: `${scheme}@example.com`, password: 'tall-green-bicycle' };
    assert.equal((await call(`${base}/account`, { method: 'POST' }, user)).status, 201);
    const login = await call(`${base}/account/sessions/email`, { method: 'POST' }, user);
    const [cookie = ''] = login.cookies;
    assert.match(cookie, scheme === 'https' ? /^__Host-svc_shop=.*; secure/i : /^svc_shop=(?!.*; secure)/i);
    server.signal('SIGTERM');
    assert.equal(await server.ended, 0);
  });

test('after SIGHUP, new connections get the renewed certificate, and an unusable one changes nothing', async () => {
  const files = { SVC_TLS_CERT: join(place.dir, 'renewed.pem'), SVC_TLS_KEY: join(place.dir, 'renewed-key.pem') };
  const put = (pair: { cert: string; key: string }) => {
    writeFileSync(files.SVC_TLS_CERT, pair.cert);
    writeFileSync(files.SVC_TLS_KEY, pair.key);
  };
  put({ cert, key });
  const port = await freePort();
  const env = { SVC_PORT: String(port), SVC_BASE_URL: `https://localhost:${port}/v1` };
  const server = await place.serve([], { ...files, ...env });
  const served = async () => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const of = (pem: string) => new X509Certificate(pem).fingerprint256;
  assert.equal(await served(), of(cert));
  const renewed = selfSigned(['localhost']);
  put(renewed);
  server.signal('SIGHUP');
  await eventually(async () => assert.equal(await served(), of(renewed.cert)));
  put({ cert, key: renewed.key });
  server.signal('SIGHUP');
  await eventually(() => assert.match(server.log(), /config\.refused/));
  assert.equal(await served(), of(renewed.cert));
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});

test('the start, a daily line and config check report a certificate that has expired or expires soon', async () => {
  const day = 86_400_000;
  const files = { SVC_TLS_CERT: join(place.dir, 'old.pem'), SVC_TLS_KEY: join(place.dir, 'old-key.pem') };
  const table: [string | undefined, number][] = [
    ['tls.expired', -day],
    ['tls.expires-soon', 13 * day],
    [undefined, 15 * day],
  ];
  for (const [event, left] of table) {
    const until = Date.now() + left;
    const pair = selfSigned(['localhost'], { from: Date.now() - 9 * day, until });
    writeFileSync(files.SVC_TLS_CERT, pair.cert);
    writeFileSync(files.SVC_TLS_KEY, pair.key);
    const env = { ...files, SVC_BASE_URL: 'https://localhost:8443/v1', SVC_PORT: '0' };
    const checked = await place.svc(['config', 'check', '--json'], { env });
    const { warnings = [] } = JSON.parse(checked.out) as { warnings?: string[] };
    assert.equal(checked.code, 0, checked.err);
    assert.equal(warnings.filter((text) => text.includes('SVC_TLS_CERT')).length, event === undefined ? 0 : 1);
    const ran = await place.svc(['cron', 'run', 'tls.check'], { env });
    assert.equal(ran.code, 0, ran.err);
    assert.equal(ran.err.includes('tls.exp'), event !== undefined, ran.err);
    const server = await place.serve([], env);
    const told = () =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes('"tls.'))
        .map((line) => JSON.parse(line) as { event: string; level: string; until: string })
        .map((line) => [line.event, line.level, Math.floor(Date.parse(line.until) / 1000)]);
    // It may be told right after the server has said that it listens.
    await eventually(() =>
      assert.deepEqual(told(), event === undefined ? [] : [[event, 'warn', Math.floor(until / 1000)]]),
    );
    const metrics = await new Promise<string>((resolve, reject) => {
      request(new URL('/metrics', server.url), { rejectUnauthorized: false }, (answer) => {
        answer.toArray().then((parts) => resolve(parts.join('')), reject);
      })
        .on('error', reject)
        .end();
    });
    const expiry = /^svc_tls_certificate_expiry_timestamp_seconds (\d+)$/m.exec(metrics)?.[1];
    assert.equal(Number(expiry), Math.floor(until / 1000));
    server.signal('SIGTERM');
    await server.ended;
  }
  const plain = await place.serve();
  const metrics = await (await fetch(new URL('/metrics', plain.url))).text();
  assert.doesNotMatch(metrics, /svc_tls_certificate/);
  plain.signal('SIGTERM');
  await plain.ended;
});

/** A free port that only root, or who has the right to, may listen on. */
async function freeLowPort(): Promise<number> {
  for (let port = 1023; port > 600; port -= 1) {
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
  throw new Error('no port below 1024 is free');
}

test('a port below 1024 is served with the rights of the unit, and refused without, with the reason', async (t) => {
  const unit = readFileSync(join(root, 'templates/systemd/svc.service'), 'utf8');
  const rights = [...unit.matchAll(/^(?:Ambient|CapabilityBounding)\w*=(\S+)$/gm)].map(([, right]) => right);
  assert.deepEqual(rights, ['CAP_NET_BIND_SERVICE', 'CAP_NET_BIND_SERVICE']);
  const limit = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  const canSet = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0;
  if (!canSet || limit < 1024) return t.skip('needs root, setpriv and ports that are reserved');
  const port = await freeLowPort();
  const base = `https://localhost:${port}/v1`;
  const settings = { ...overTls, SVC_PORT: String(port), SVC_BASE_URL: base };
  const lines = Object.entries(settings).map(([name, value]) => `export ${name}=${value}`);
  const under = (right: string, command: string) =>
    place.shell(`${lines.join('; ')}; exec setpriv --bounding-set=-all${right} ${command}`);
  const refused = await under('', 'svc serve');
  assert.equal(refused.code, 7, refused.err);
  assert.match(refused.err, /EACCES/);
  const running = under(',+net_bind_service', 'svc serve --pidfile served.pid');
  const pidfile = join(place.dir, 'served.pid');
  await eventually(async () => assert.equal((await call(`${base}/healthz`)).status, 200));
  // Written once it is ready, which may be after its first answer.
  await eventually(async () => process.kill(pidIn(pidfile), 'SIGTERM'));
  const { code, out } = await running;
  assert.deepEqual([code, out.split('\n')[0]], [0, `svc is ready: ${base}`]);
});
