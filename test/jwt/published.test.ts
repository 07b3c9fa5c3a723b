// What is published for those who verify tokens without asking us, and that ordinary libraries can do it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { allowInsecureRequests, discovery, None } from 'openid-client';
import { aLoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { freePort } from '../harness/free-port.js';
import { aBearer, mint } from './setup.js';

const port = await freePort();
const baseUrl = `http://127.0.0.1:${port}/v1`;
const target = await startAppliance({ settings: { SVC_PORT: String(port), SVC_BASE_URL: baseUrl } });
const bare = createClient(target, { project: null });
const issuer = `${baseUrl}/projects/main`;
const header = { 'X-Service-Project': 'main' };
const wellKnown = {
  keys: '/projects/main/.well-known/jwks.json',
  discovery: '/projects/main/.well-known/openid-configuration',
};

test('the keys of a fresh project are there at once: public members only, the same at every address', async () => {
  const first = await recordedBy(target, () => bare.get('//keys', header));
  assert.deepEqual(first.recorded, { audit: ['signingKeyCreated'], events: [], messages: [] });
  const [key, ...others] = first.value.expect(200).list('keys');
  assert.deepEqual(others, []);
  assert.deepEqual(Object.keys(key ?? {}).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
  const { kty, use, alg, e, n } = key as Record<string, string>;
  assert.deepEqual({ kty, use, alg, e }, { kty: 'RSA', use: 'sig', alg: 'RS256', e: 'AQAB' });
  assert.equal(Buffer.from(n ?? '', 'base64url').length * 8, 3072);
  for (const [path, headers] of [
    ['/keys', header],
    ['/keys', { 'X-Appwrite-Project': 'main' }],
    ['/keys?project=main', {}],
    [wellKnown.keys, {}],
  ] as const) {
    const { value, recorded } = await recordedBy(target, () => bare.get(path, headers));
    assert.deepEqual(value.expect(200).body, first.value.body, path);
    assert.deepEqual(recorded, nothing);
  }
});

test('the HMAC key is published nowhere', async () => {
  const { client } = await aLoggedInUser(target);
  const kid = JSON.parse(Buffer.from((await mint(client)).split('.')[0] ?? '', 'base64url').toString()).kid;
  const { text } = (await bare.get(wellKnown.keys)).expect(200);
  assert.ok(!text.includes(kid) && !text.includes('oct'));
});

test('the discovery document names issuer and keys, and nothing that is not there', async () => {
  const found = (await bare.get('//openid-configuration', header)).expect(200).body;
  const { claims_supported: claims, ...rest } = found;
  assert.deepEqual(rest, {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  });
  const jwt = await mint((await aLoggedInUser(target)).client);
  const made = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
  // Only a token that would be too large has the first of these, and one that a server key has made the second.
  assert.deepEqual([...(claims as string[])].sort(), [...Object.keys(made), 'rolesTruncated', 'act'].sort());
  for (const path of ['/openid-configuration?project=main', wellKnown.discovery])
    assert.deepEqual((await bare.get(path)).expect(200).body, found);
});

test('the documents may be kept for five minutes, one for each project', async () => {
  for (const path of ['/keys', '/openid-configuration']) {
    const answer = (await bare.get(path, header)).expect(200);
    assert.equal(answer.headers.get('Cache-Control'), 'public, max-age=300');
    const vary = answer.headers.get('Vary')?.toLowerCase().split(', ') ?? [];
    for (const name of ['origin', 'x-service-project', 'x-appwrite-project']) assert.ok(vary.includes(name), `${vary}`);
  }
  for (const path of Object.values(wellKnown)) {
    const answer = (await bare.get(path)).expect(200);
    assert.equal(answer.headers.get('Cache-Control'), 'public, max-age=300');
    assert.equal(answer.headers.get('Vary'), null);
    (await bare.request('HEAD', path)).expect(200);
  }
});

test('every page may read those without a header, and credentials make no difference', async () => {
  const { jwt, secret } = await aBearer(target);
  const foreign = { Origin: 'https://elsewhere.example' };
  for (const path of Object.values(wellKnown)) {
    for (const credentials of [
      {},
      { 'X-Service-JWT': `${jwt}x` },
      { 'X-Service-Session': secret, 'X-Service-Key': 'x' },
      { Cookie: `svc_main=${secret}` },
    ]) {
      const answer = (await bare.get(path, { ...foreign, ...credentials })).expect(200);
      assert.equal(answer.headers.get('Access-Control-Allow-Origin'), '*');
      assert.equal(answer.headers.get('Access-Control-Allow-Credentials'), null);
    }
  }
  assert.equal((await bare.get('/keys', { ...header, ...foreign })).headers.get('Access-Control-Allow-Origin'), null);
});

test('a project that is not there has no documents, and neither has none', async () => {
  for (const id of ['none', 'MAIN', '%00', "'--", 'a'.repeat(37), '%E0%A4%A'])
    for (const name of ['jwks.json', 'openid-configuration'])
      assert.ok([400, 404].includes((await bare.get(`/projects/${id}/.well-known/${name}`)).status), id);
  (await bare.get('/projects/none/.well-known/jwks.json', header)).refused(404, 'project_not_found');
  for (const path of ['//keys', '/keys', '//openid-configuration'])
    (await bare.get(path)).refused(404, 'project_not_found');
  (await bare.get('//projects/main/.well-known/jwks.json')).refused(404, 'general_route_not_found');
});

test('jose verifies a token with the served keys alone, and finds faults in others', async () => {
  const { jwt, id } = await aBearer(target, { alg: 'RS256' });
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  const { payload, protectedHeader } = await jwtVerify(jwt, keys, { issuer, audience: 'main', typ: 'JWT' });
  assert.deepEqual([payload.sub, payload.aud, protectedHeader.alg], [id, 'main', 'RS256']);
  await assert.rejects(jwtVerify(`${jwt.slice(0, -8)}AAAAAAAA`, keys, { issuer, audience: 'main' }), /signature/);
  const { jwt: symmetric } = await aBearer(target);
  await assert.rejects(jwtVerify(symmetric, keys, { issuer, audience: 'main' }));
  const neighbour = (await bare.get('/projects/neighbour/.well-known/jwks.json')).expect(200).body;
  const others = createLocalJWKSet(neighbour as unknown as JSONWebKeySet);
  await assert.rejects(jwtVerify(jwt, others, { issuer, audience: 'main' }), /no applicable key/);
});

test('an ordinary OpenID Connect client discovers the issuer and verifies with its metadata', async () => {
  const { jwt, id } = await aBearer(target, { alg: 'RS256' });
  const found = await discovery(new URL(issuer), 'a-client', undefined, None(), { execute: [allowInsecureRequests] });
  const metadata = found.serverMetadata();
  assert.equal(metadata.issuer, issuer);
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''));
  const { payload } = await jwtVerify(jwt, keys, { issuer: metadata.issuer, audience: 'main' });
  assert.equal(payload.sub, id);
});

test('behind a base address with a slash the issuer has none twice', async () => {
  const sibling = await target.startSibling({ settings: { SVC_BASE_URL: 'https://api.example.com/v1/' } });
  const found = (await createClient(sibling).get('/openid-configuration')).expect(200).body;
  assert.equal(found.issuer, 'https://api.example.com/v1/projects/main');
});
