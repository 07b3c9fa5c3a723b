// What providers say about a user in other ways than most: a signed userinfo answer, a list of addresses, a name in parts; and the reason in the log.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createClient } from '../harness/client.js';
import { createBrowser, endOf, startUrl } from './browser.js';
import { startFakeProvider } from './fake-provider.js';
import { addProvider, startOpen } from './setup.js';

const target = await startOpen();
const fake = await startFakeProvider();
// Discovery documents are kept between logins.
fake.document = { userinfo_endpoint: `${fake.issuer}/userinfo` };
const config = { issuer: fake.issuer, clientId: 'svc', clientSecret: 'secret' };
before(() => addProvider(target, { key: 'fake', kind: 'oidc', config }));

async function visit(provider = 'fake') {
  const browser = createBrowser(target);
  const { location } = await browser.step(startUrl('sessions', provider));
  const end = endOf(await browser.step(fake.authorize(location ?? '')));
  const session = browser.cookie('svc_main');
  const account = session && (await createClient(target, { session }).get('/account')).expect(200).body;
  return { end, account: account || undefined };
}

test('a list of addresses gives an unverified one, and the parts of a name the name', async () => {
  const name = { given_name: 'Ada', family_name: 'Lovelace' };
  fake.claims = { sub: 'listed', emails: ['ada@m\u00fcnchen.example'], email_verified: true, ...name };
  const { account } = await visit();
  assert.deepEqual(
    [account?.email, account?.emailVerification, account?.name],
    ['ada@xn--mnchen-3ya.example', false, 'Ada Lovelace'],
  );
});

test('the configuration names claims; an address in another one is verified only by the claim that says so', async () => {
  const named = { ...config, emailClaim: 'https://corp.example/mail', nameClaim: 'displayName' };
  await addProvider(target, { key: 'named', kind: 'oidc', config: named });
  await addProvider(target, { key: 'vouched', kind: 'oidc', config: { ...named, emailVerifiedClaim: 'mail_checked' } });
  const claims = { email: 'other@mail.example', email_verified: true, mail_checked: true, displayName: 'Ada L.' };
  for (const [provider, verified] of [
    ['named', false],
    ['vouched', true],
  ] as const) {
    const email = `${provider}@corp.example`;
    fake.claims = { sub: provider, 'https://corp.example/mail': email, ...claims };
    const { account } = await visit(provider);
    assert.deepEqual([account?.email, account?.emailVerification, account?.name], [email, verified, 'Ada L.']);
  }
  const builtIn = {
    key: 'google',
    kind: 'oauth2',
    config: { ...config, issuer: undefined, emailClaim: 'mail' },
  } as const;
  await assert.rejects(addProvider(target, builtIn), /google takes no emailClaim/);
});

test('accepts empty tokens, a list of scopes and a missing token type', async () => {
  for (const [name, token] of Object.entries({
    nulls: { refresh_token: null, scope: null, expires_in: null },
    empty: { refresh_token: '', expires_in: '' },
    list: { scope: ['openid', 'email'] },
    typeless: { token_type: undefined },
  })) {
    fake.claims = { sub: name, email: `${name}@mail.example` };
    fake.token = token;
    assert.equal((await visit()).account?.email, `${name}@mail.example`, name);
  }
  fake.token = { access_token: null };
  assert.equal((await visit()).end.error?.type, 'user_oauth2_provider_error');
  fake.token = {};
});

test('reads empty claims of the ID token from the userinfo endpoint', async () => {
  for (const [sub, empty] of [
    ['without', null],
    ['blank', ''],
  ] as const) {
    const email = `${sub}@userinfo.example`;
    fake.claims = { sub, email: empty, email_verified: empty, name: 'Ada' };
    fake.intercept = ({ url }, response) => {
      if (!url.endsWith('/userinfo')) return false;
      const claims = { sub, email, email_verified: true, name: empty };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(claims));
      return true;
    };
    const { account } = await visit();
    assert.deepEqual([account?.email, account?.emailVerification, account?.name], [email, true, 'Ada']);
  }
  fake.intercept = () => false;
});

const signatures = [
  ['properly', undefined],
  ['with another key', 'user_oauth2_provider_error'],
  ['not at all', 'user_oauth2_provider_error'],
  ['with the client secret', 'user_oauth2_provider_error'],
] as const;
for (const [signs, error] of signatures)
  test(`a userinfo answer as a JWT that is signed ${signs} is ${error === undefined ? 'accepted' : 'refused'}`, async () => {
    const sub = `signed ${signs}`;
    const email = `${signs.replaceAll(' ', '-')}@mail.example`;
    fake.claims = { sub };
    fake.intercept = ({ url }, response) => {
      if (!url.endsWith('/userinfo')) return false;
      fake.signs = signs;
      const claims = { sub, email, email_verified: true, iss: fake.issuer, aud: 'svc' };
      void Promise.resolve(fake.sign(claims)).then((jwt) =>
        response.writeHead(200, { 'content-type': 'application/jwt' }).end(jwt),
      );
      fake.signs = 'properly';
      return true;
    };
    const { end, account } = await visit();
    assert.equal(end.error?.type, error);
    assert.equal(account?.email, error === undefined ? email : undefined);
  });

test('keys are fetched again for an ID token by a new key, and only then', async () => {
  fake.claims = { sub: 'rotating', email: 'rotating@mail.example' };
  assert.equal((await visit()).end.error, undefined);
  const fetches = () => fake.calls.filter(({ url }) => url.endsWith('/jwks')).length;
  const before = fetches();
  await visit();
  assert.equal(fetches(), before);
  fake.rotate();
  for (let login = 0; login < 2; login++) assert.equal((await visit()).end.error, undefined);
  assert.equal(fetches(), before + 1);
});
