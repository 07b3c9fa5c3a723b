// Logins at Keycloak, unmodified: OpenID Connect and SAML, by its own login form.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Browser, endOf, type Step, startUrl } from '../oauth2/browser.js';
import { entityIdOf, startOf } from '../saml/setup.js';
import { ada, enter, lacksKeycloak, startKeycloak } from './keycloak.js';
import { ask, submit } from './login-form.js';
import { browserOf, openSettings, serveWorld } from './world.js';

const base = openSettings.SVC_BASE_URL;
const skip = lacksKeycloak;
const done = 'http://localhost:3000/done';
const failed = 'http://localhost:3000/failed';
const pages = { success: done, failure: failed };
const [world, keycloak] = skip ? ([] as never) : await Promise.all([serveWorld(openSettings), startKeycloak()]);

const callbackOf = (key: string) => `${base}/account/sessions/oauth2/callback/${key}/world`;

/** Adds a client at Keycloak, and a provider that is this client. */
async function addOidc(key: string, client: object = {}, secret = 'a secret') {
  const given = { clientId: key, secret, redirectUris: [callbackOf(key)], ...client };
  await keycloak.admin('POST', '/clients', given);
  const file = join(world.place.dir, `${key}.secret`);
  writeFileSync(file, secret);
  const secretFlags = secret === '' ? [] : ['--secret-file', file];
  const named = ['--project', 'world', '--key', key, '--issuer', keycloak.realm, '--client-id', key];
  await world.place.json(['provider', 'add', 'oidc', ...named, ...secretFlags]);
}

const begin = (browser: Browser, key: string) => browser.open(startUrl('sessions', key, pages, 'world'));

/** Fails unless the browser is at the success page as the person whom Keycloak knows. */
async function assertAda(browser: Browser, end: Step) {
  assert.equal(end.location, done, `${end.location} ${end.text} ${world.log()}`);
  const { name, email, emailVerification } = await ask(browser, '/account');
  assert.deepEqual([name, email, emailVerification], ['Ada Lovelace', ada.email, true]);
}

test('OpenID Connect: a login, another one without the form, fresh tokens, and a login that is cancelled', {
  skip,
}, async () => {
  await addOidc('keycloak', { consentRequired: true });
  const tested = await world.place.json<{ ok: boolean }>(['provider', 'test', 'keycloak', '--project', 'world']);
  assert.equal(tested.ok, true);
  const browser = browserOf(world);
  const consent = await enter(browser, await begin(browser, 'keycloak'));
  const refused = await submit(browser, consent, { cancel: 'No' });
  assert.equal(endOf(refused).error?.type, 'user_oauth2_unauthorized');
  const again = await enter(browser, await begin(browser, 'keycloak'));
  await assertAda(browser, await submit(browser, again, { accept: 'Yes' }));
  const session = await ask(browser, '/account/sessions/current');
  const fresh = await ask(browser, '/account/sessions/current', 'PATCH');
  assert.notEqual(fresh.providerAccessToken, session.providerAccessToken);
  await assertAda(browser, await begin(browser, 'keycloak'));

  const config = { priority: ['200'], keySize: ['2048'] };
  const provider = { providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider' };
  await keycloak.admin('POST', '/components', { name: 'newer key', ...provider, config });
  await assertAda(browser, await begin(browser, 'keycloak'));
});

const variants: Record<string, readonly [object, string?]> = {
  'signed by PS256': [{ attributes: { 'id.token.signed.response.alg': 'PS256' } }],
  'signed by ES256': [{ attributes: { 'id.token.signed.response.alg': 'ES256' } }],
  'signed by EdDSA': [{ attributes: { 'id.token.signed.response.alg': 'EdDSA' } }],
  'with PKCE demanded': [{ attributes: { 'pkce.code.challenge.method': 'S256' } }],
  'with a secret of any characters': [{}, 'a b+c:%20é&=/'],
  'of a public client': [{ publicClient: true }, ''],
};

test('OpenID Connect with other settings of the client', { skip }, async (t) => {
  for (const [index, [name, [client, secret]]] of Object.entries(variants).entries())
    await t.test(name, async () => {
      await addOidc(`variant${index}`, client, secret);
      const browser = browserOf(world);
      await assertAda(browser, await enter(browser, await begin(browser, `variant${index}`)));
    });
});

test('OpenID Connect with addresses that only userinfo has', { skip }, async (t) => {
  type Mapper = { readonly id: string; readonly config: object };
  const scopes = await keycloak.admin<{ id: string; name: string; protocolMappers: Mapper[] }[]>(
    'GET',
    '/client-scopes',
  );
  const { id, protocolMappers } = scopes.find(({ name }) => name === 'email') ?? assert.fail();
  for (const mapper of protocolMappers) {
    const changed = { ...mapper, config: { ...mapper.config, 'id.token.claim': 'false' } };
    await keycloak.admin('PUT', `/client-scopes/${id}/protocol-mappers/models/${mapper.id}`, changed);
  }
  for (const algorithm of ['any', 'RS256', 'ES256'])
    await t.test(algorithm === 'any' ? 'as JSON' : `signed by ${algorithm}`, async () => {
      const attributes = algorithm === 'any' ? {} : { 'user.info.response.signature.alg': algorithm };
      await addOidc(`info-${algorithm.toLowerCase()}`, { attributes });
      const browser = browserOf(world);
      await assertAda(browser, await enter(browser, await begin(browser, `info-${algorithm.toLowerCase()}`)));
    });
});

const mapperOf = (user: string, name: string) => ({
  name: user,
  protocol: 'saml',
  protocolMapper: 'saml-user-property-mapper',
  config: { 'user.attribute': user, 'attribute.name': name, 'attribute.nameformat': 'URI Reference' },
});
/** X500 email, X500 givenName and X500 surname of the predefined mappers. */
const x500 = [
  mapperOf('email', 'urn:oid:1.2.840.113549.1.9.1'),
  mapperOf('firstName', 'urn:oid:2.5.4.42'),
  mapperOf('lastName', 'urn:oid:2.5.4.4'),
];
const encryption = 'saml.encryption';
const oaep11 = 'http://www.w3.org/2009/xmlenc11#rsa-oaep';
const variantsOfSaml: Record<string, readonly [Record<string, string>, ...string[]]> = {
  'as imported': [{}],
  'with requests by HTTP-POST': [{}, '--sso-binding', 'post'],
  'without encryption, signed by RSA with SHA-512': [
    { 'saml.encrypt': 'false', 'saml.signature.algorithm': 'RSA_SHA512' },
  ],
  'encrypted by AES-128-GCM and RSA-OAEP of XML Encryption 1.1': [
    {
      [`${encryption}.algorithm`]: 'http://www.w3.org/2009/xmlenc11#aes128-gcm',
      [`${encryption}.keyAlgorithm`]: oaep11,
      [`${encryption}.digestMethod`]: 'http://www.w3.org/2001/04/xmlenc#sha256',
      [`${encryption}.maskGenerationFunction`]: 'http://www.w3.org/2009/xmlenc11#mgf1sha256',
    },
  ],
};

test('SAML: each side is configured with the metadata of the other', { skip }, async (t) => {
  const metadata = ['--metadata-url', `${keycloak.realm}/protocol/saml/descriptor`];
  for (const [index, [name, [attributes, ...flags]]] of Object.entries(variantsOfSaml).entries())
    await t.test(name, async () => {
      const key = `saml${index}`;
      const named = ['--project', 'world', '--key', key, '--email-domains', 'corp.example'];
      await world.place.json(['provider', 'add', 'saml', ...named, ...metadata, '--name-id-format', 'persistent']);
      if (flags.length > 0) await world.place.json(['provider', 'update', key, '--project', 'world', ...flags]);
      const browser = browserOf(world);
      const own = (await browser.step(entityIdOf(key, 'world'))).text;
      const imported = await keycloak.admin<{ attributes: object }>('POST', '/client-description-converter', own);
      const changed = { ...imported.attributes, ...attributes, saml_idp_initiated_sso_url_name: key };
      await keycloak.admin('POST', '/clients', { ...imported, attributes: changed, protocolMappers: x500 });
      const first = await browser.open(startOf(key, pages, 'world'));
      const page = first.text.includes('SAMLRequest') ? await submit(browser, first) : first;
      await assertAda(browser, await submit(browser, await enter(browser, page)));
    });
  await t.test('begun at Keycloak', async () => {
    const started = ['--idp-initiated', 'on', '--idp-initiated-page', done];
    await world.place.json(['provider', 'update', 'saml0', '--project', 'world', ...started]);
    const browser = browserOf(world);
    const page = await browser.open(`${keycloak.realm}/protocol/saml/clients/saml0`);
    await assertAda(browser, await submit(browser, await enter(browser, page)));
  });
});
