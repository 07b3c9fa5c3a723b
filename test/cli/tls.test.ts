// https by the server itself: `config check` and `serve` name what is wrong with the files, and other commands go on without them.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSigned } from '../harness/certificate.js';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

const place = await install();
after(() => place.dispose());
const [own, other] = [selfSigned(['api.example.com']), selfSigned(['other.example.com'])];
const written = (name: string, text: string) => {
  const file = join(place.dir, name);
  writeFileSync(file, text);
  return file;
};
const files = {
  cert: written('cert.pem', own.cert),
  key: written('key.pem', own.key),
  otherKey: written('other.pem', other.key),
  text: written('text.pem', 'no certificate'),
  absent: join(place.dir, 'absent.pem'),
};
const base = 'https://localhost:8443/v1';
const env = (cert: string, key: string, url = base) => ({ SVC_TLS_CERT: cert, SVC_TLS_KEY: key, SVC_BASE_URL: url });

const wrong: [string, Record<string, string>, RegExp][] = [
  [
    'no such certificate',
    env(files.absent, files.key),
    /SVC_TLS_CERT names \S+, which cannot be read: it does not exist \(ENOENT\)/,
  ],
  [
    'no such key',
    env(files.cert, files.absent),
    /SVC_TLS_KEY names \S+, which cannot be read: it does not exist \(ENOENT\)/,
  ],
  ['no certificate in the file', env(files.text, files.key), /SVC_TLS_CERT names a file that is no certificate in PEM/],
  ['no key in the file', env(files.cert, files.text), /SVC_TLS_KEY names a file that holds no usable key/],
  ['the key of another certificate', env(files.cert, files.otherKey), /SVC_TLS_KEY is not the key of the certificate/],
  [
    'a base URL that is not https',
    env(files.cert, files.key, 'http://localhost:8443/v1'),
    /SVC_BASE_URL begins with http:.*write https:\/\/localhost:8443\/v1/,
  ],
];
for (const [name, given, message] of wrong)
  test(`${name}: config check and serve say so, and other commands go on`, async () => {
    for (const command of [['config', 'check'], ['serve']]) {
      const { code, err } = await place.svc(command, { env: given });
      assert.equal(code, 7, err);
      assert.match(err, message);
    }
    assert.equal((await place.svc(['project', 'list'], { env: given })).code, 0);
  });

test('files that fit are served', async () => {
  const given = env(files.cert, files.key);
  assert.equal((await place.svc(['config', 'check'], { env: given })).code, 0);
  const server = await place.serve([], given);
  assert.match(server.url, /^https:/);
  server.signal('SIGTERM');
  assert.equal(await server.ended, 0);
});
