// Logins at Dex, unmodified, by its own login form.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hash } from 'bcryptjs';
import { freePort } from '../harness/free-port.js';
import { startUrl } from '../oauth2/browser.js';
import { ask, submit } from './login-form.js';
import { browserOf, lacks, openSettings, serveWorld, startServer } from './world.js';

const program = process.env.SVC_TEST_DEX ?? 'dex';
const skip = lacks(program, ['version'], 'dex');
const done = 'http://localhost:3000/done';

test('OpenID Connect at Dex: two logins of one user', { skip }, async () => {
  const world = await serveWorld(openSettings);
  const issuer = `http://127.0.0.1:${await freePort()}/dex`;
  const redirect = 'http://localhost:8080/v1/account/sessions/oauth2/callback/dex/world';
  const ada = { email: 'ada@corp.example', username: 'ada', name: 'Ada Lovelace', userID: 'one', emailVerified: true };
  const config = {
    issuer,
    storage: { type: 'memory' },
    web: { http: new URL(issuer).host },
    oauth2: { skipApprovalScreen: true },
    staticClients: [{ id: 'svc', secret: 'a secret', name: 'Service', redirectURIs: [redirect] }],
    enablePasswordDB: true,
    staticPasswords: [{ ...ada, hash: await hash('a fine password', 10) }],
  };
  const file = (name: string, text: string) => {
    writeFileSync(join(world.place.dir, name), text);
    return join(world.place.dir, name);
  };
  // JSON is YAML.
  await startServer(program, ['serve', file('dex.yaml', JSON.stringify(config))], `${issuer}/healthz`);
  const secret = file('dex.secret', 'a secret');
  const named = [
    '--project',
    'world',
    '--key',
    'dex',
    '--issuer',
    issuer,
    '--client-id',
    'svc',
    '--secret-file',
    secret,
  ];
  await world.place.json(['provider', 'add', 'oidc', ...named]);
  const tested = await world.place.json<{ ok: boolean }>(['provider', 'test', 'dex', '--project', 'world']);
  assert.equal(tested.ok, true);

  const ids = [];
  for (let login = 0; login < 2; login++) {
    const browser = browserOf(world);
    const page = await browser.open(startUrl('sessions', 'dex', { success: done }, 'world'));
    const end = await submit(browser, page, { login: ada.email, password: 'a fine password' });
    assert.equal(end.location, done, end.text + world.log());
    const account = await ask(browser, '/account');
    assert.deepEqual([account.email, account.emailVerification], [ada.email, true]);
    ids.push(account.$id);
  }
  assert.equal(ids[0], ids[1]);
});
