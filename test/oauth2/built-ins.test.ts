// Each built-in provider with the documented shape of its answers, served by a local stand-in; and what its errors come to.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { builtIns } from '#src/features/identity/login/oauth2/providers/index.js';
import { createClient } from '../harness/client.js';
import { readTable } from '../harness/markdown.js';
import { type ReceivedCall, startReceiver } from '../harness/receiver.js';
import { app, assertFailed, createBrowser, endOf, startUrl } from './browser.js';
import { addProvider, callbackOf, startOpen } from './setup.js';

const target = await startOpen();
const world = await startReceiver();
const signing = generateKeyPairSync('rsa', { modulusLength: 2048 });
const appleKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const applePem = appleKey.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

// Every call leaves by the guarded way out, as ever, but for the host: that of the provider is the first segment of the path.
const { egress } = target.appliance.runtime;
const send = egress.request;
egress.request = (call) => send({ ...call, url: call.url.replace(/^https:\/\//, `${world.origin}/`) });

type Answers = Readonly<Record<string, unknown>>;
interface Example {
  readonly config?: Readonly<Record<string, unknown>>;
  /** For OpenID Connect: issuer and claims of the ID token. */
  readonly issuer?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly token?: Readonly<Record<string, unknown>>;
  /** By host and path. */
  readonly answers?: Answers;
  /** The same without an address, and with one that is not verified; absent where the provider gives none such. */
  readonly nobody: { readonly claims?: object; readonly answers?: Answers };
  readonly unverified?: { readonly claims?: object; readonly answers?: Answers };
  readonly profile: { readonly uid: string; readonly email: string; readonly verified: boolean; readonly name: string };
  /** What the browser brings back besides. */
  readonly form?: Readonly<Record<string, string>>;
  /** The form in which the provider refuses a code. */
  readonly error: { readonly status: number; readonly body: unknown };
}

const oidcError = { status: 400, body: { error: 'invalid_grant', error_description: 'Bad Request' } };
const email = 'ada@example.com';
const standard = (uid: string) => ({ uid, email, verified: true, name: 'Ada Lovelace' });
const oidc = (issuer: string, uid: string): Example => ({
  issuer,
  claims: { sub: uid, email, email_verified: true, name: 'Ada Lovelace' },
  nobody: { claims: { email: undefined, email_verified: undefined } },
  unverified: { claims: { email_verified: false } },
  profile: standard(uid),
  error: oidcError,
});

const examples: Readonly<Record<string, Example>> = {
  google: { ...oidc('https://accounts.google.com', '110169484474386276334'), token: { scope: 'openid email profile' } },
  gitlab: oidc('https://gitlab.com', '1234567'),
  slack: {
    ...oidc('https://slack.com', 'U0R7JM'),
    token: { ok: true, token_type: 'Bearer' },
    error: { status: 200, body: { ok: false, error: 'invalid_code' } },
  },
  microsoft: {
    ...oidc('https://login.microsoftonline.com/contoso.example/v2.0', 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ'),
    config: { tenant: 'contoso.example' },
    claims: { sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', email, xms_edov: true, name: 'Ada Lovelace' },
    unverified: { claims: { xms_edov: undefined, email_verified: true } },
  },
  apple: {
    ...oidc('https://appleid.apple.com', '001234.abcdef.0123'),
    config: { teamId: 'TEAM123456', keyId: 'KEY1234567', clientSecret: applePem },
    claims: { sub: '001234.abcdef.0123', email, email_verified: 'true', is_private_email: 'false' },
    unverified: { claims: { email_verified: 'false' } },
    form: { user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email: 'evil@example.com' }) },
  },
  github: {
    token: { token_type: 'bearer', scope: 'read:user,user:email' },
    answers: {
      'api.github.com/user': { login: 'ada', id: 583231, name: 'Ada Lovelace', email: 'shown@example.com' },
      'api.github.com/user/emails': [
        { email: 'old@example.com', primary: false, verified: true, visibility: null },
        { email, primary: true, verified: true, visibility: 'private' },
      ],
    },
    nobody: { answers: { 'api.github.com/user/emails': [] } },
    unverified: { answers: { 'api.github.com/user/emails': [{ email, primary: true, verified: false }] } },
    profile: standard('583231'),
    error: { status: 200, body: { error: 'bad_verification_code', error_description: 'The code passed is incorrect' } },
  },
  facebook: {
    answers: { 'graph.facebook.com/v21.0/me': { id: '10158', name: 'Ada Lovelace', email } },
    nobody: { answers: { 'graph.facebook.com/v21.0/me': { id: '10158', name: 'Ada Lovelace' } } },
    profile: { ...standard('10158'), verified: false },
    error: { status: 400, body: { error: { message: 'Invalid code', type: 'OAuthException', code: 100 } } },
  },
  discord: {
    answers: {
      'discord.com/api/v10/users/@me': {
        id: '80351110224678912',
        username: 'ada',
        global_name: 'Ada Lovelace',
        verified: true,
        email,
      },
    },
    nobody: { answers: { 'discord.com/api/v10/users/@me': { id: '80351110224678912', username: 'ada', email: null } } },
    unverified: {
      answers: {
        'discord.com/api/v10/users/@me': { id: '80351110224678912', username: 'ada', verified: false, email },
      },
    },
    profile: standard('80351110224678912'),
    error: oidcError,
  },
  linkedin: {
    token: { id_token: 'e30.e30.e30', token_type: undefined },
    answers: {
      'api.linkedin.com/v2/userinfo': {
        sub: '782bbtaQ',
        name: 'Ada Lovelace',
        email,
        email_verified: true,
        locale: 'en-US',
      },
    },
    nobody: { answers: { 'api.linkedin.com/v2/userinfo': { sub: '782bbtaQ', name: 'Ada Lovelace' } } },
    unverified: { answers: { 'api.linkedin.com/v2/userinfo': { sub: '782bbtaQ', email, email_verified: false } } },
    profile: standard('782bbtaQ'),
    error: { status: 400, body: { error: 'invalid_request', error_description: 'Unable to retrieve access token' } },
  },
  x: {
    answers: {
      'api.x.com/2/users/me': {
        data: { id: '2244994945', name: 'Ada Lovelace', username: 'ada', confirmed_email: email },
      },
    },
    nobody: {
      answers: { 'api.x.com/2/users/me': { data: { id: '2244994945', name: 'Ada Lovelace', username: 'ada' } } },
    },
    profile: standard('2244994945'),
    error: {
      status: 400,
      body: { error: 'invalid_request', error_description: 'Value passed for the authorization code was invalid.' },
    },
  },
  spotify: {
    answers: { 'api.spotify.com/v1/me': { id: 'ada', display_name: 'Ada Lovelace', email, country: 'GB' } },
    nobody: { answers: { 'api.spotify.com/v1/me': { id: 'ada', display_name: 'Ada Lovelace' } } },
    profile: { ...standard('ada'), verified: false },
    error: oidcError,
  },
  twitch: {
    token: { scope: ['user:read:email'], token_type: 'bearer' },
    answers: {
      'api.twitch.tv/helix/users': { data: [{ id: '141981764', login: 'ada', display_name: 'Ada Lovelace', email }] },
    },
    nobody: {
      answers: { 'api.twitch.tv/helix/users': { data: [{ id: '141981764', login: 'ada', display_name: 'Ada' }] } },
    },
    profile: standard('141981764'),
    error: { status: 400, body: { status: 400, message: 'Invalid authorization code' } },
  },
};

/** What the world answers with now. */
let scene: {
  key: string;
  example: Example;
  changes: { claims?: object; answers?: Answers };
  refuses: boolean;
  nonce: string;
};
const issuerOf = ({ issuer = '' }: Example) => issuer.replace('https://', '');

world.answer = (response, request) => {
  const [path = ''] = (request.url ?? '').slice(1).split('?');
  const { key, example, changes, refuses, nonce } = scene;
  const json = (body: unknown, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(body));
  };
  const issuer = example.issuer ?? '';
  const tokenPath =
    example.issuer === undefined
      ? builtIns[key]?.endpoints?.token.replace('https://', '')
      : `${issuerOf(example)}/token`;
  if (path === `${issuerOf(example)}/.well-known/openid-configuration`)
    return json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    });
  if (path === `${issuerOf(example)}/keys`)
    return json({ keys: [{ ...signing.publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }] });
  if (path === tokenPath) {
    if (refuses) return json(example.error.body, example.error.status);
    const now = Math.floor(Date.now() / 1000);
    const base = {
      access_token: 'access',
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: 'refresh',
      ...example.token,
    };
    if (example.issuer === undefined) return json(base);
    const claims = {
      iss: issuer,
      aud: 'client',
      iat: now,
      exp: now + 600,
      nonce,
      ...example.claims,
      ...changes.claims,
    };
    const signed = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(signing.privateKey);
    return void signed.then((id_token) => json({ ...base, id_token }));
  }
  const answer = { ...example.answers, ...changes.answers }[path];
  return answer === undefined ? json({ error: 'unknown' }, 404) : json(answer);
};

/** Logs in at a provider; where the browser ends, and its session. */
async function logIn(key: string, changes: { claims?: object; answers?: Answers } = {}, refuses = false) {
  const example = examples[key];
  assert.ok(example);
  scene = { key, example, changes, refuses, nonce: '' };
  const browser = createBrowser(target);
  const { location } = await browser.step(startUrl('sessions', key));
  const query = new URL(location ?? '').searchParams;
  scene.nonce = query.get('nonce') ?? '';
  const fields = new URLSearchParams({ code: 'code', state: query.get('state') ?? '', ...example.form });
  const posts = query.get('response_mode') === 'form_post';
  const end = posts
    ? await browser.step(callbackOf(key), {
        method: 'POST',
        body: fields,
        headers: { Origin: 'https://appleid.apple.com' },
      })
    : await browser.step(`${callbackOf(key)}?${fields}`);
  return { end, query, location: location ?? '', session: browser.cookie('svc_main') ?? '' };
}
const call = (name: string): ReceivedCall | undefined => world.calls.filter(({ url }) => url.includes(name)).at(-1);

test('every built-in provider has an example here and a row in the docs', () => {
  assert.deepEqual(Object.keys(examples).sort(), Object.keys(builtIns).sort());
  const documented = readTable('docs/oauth2.md', 'key').map(([key]) => key?.replaceAll('`', ''));
  assert.deepEqual(documented.sort(), Object.keys(builtIns).sort());
});

for (const [key, example] of Object.entries(examples)) {
  test(`${key}: the user, a user without an address, one with an unverified address, and an error`, async () => {
    const config = { clientId: 'client', clientSecret: 'secret', ...example.config };
    await addProvider(target, { key, kind: 'oauth2', config });
    const { uid, email: address, verified, name } = example.profile;
    const own = `${key}-${address}`;
    const renamed = (value: unknown): Record<string, unknown> =>
      JSON.parse(JSON.stringify(value ?? {}).replaceAll(email, own));
    const changesOf = ({ claims = {}, answers = {} }: { claims?: object; answers?: Answers }) => ({
      claims: {
        ...renamed({ email: example.claims?.email }),
        ...claims,
        ...('email' in claims ? {} : renamed({ email })),
      },
      answers: renamed({ ...example.answers, ...answers }),
    });

    const { end, query, session } = await logIn(key, changesOf({}));
    assert.equal(endOf(end).page, `${app}/done`, end.location ?? end.text);
    const client = createClient(target, { session });
    const account = (await client.get('/account')).expect(200).body;
    assert.deepEqual([account.email, account.emailVerification, account.name], [own, verified, name]);
    const current = (await client.get('/account/sessions/current')).expect(200).body;
    assert.deepEqual(
      [current.provider, current.providerUid, current.providerAccessToken, current.providerRefreshToken],
      [key, uid, 'access', 'refresh'],
    );
    assert.equal(query.get('code_challenge_method'), 'S256');
    assert.equal(query.has('nonce'), example.issuer !== undefined);
    assert.match(String(call('oken')?.body), /code_verifier=[\w-]{43}/);

    const before = (await client.get('/account/identities')).expect(200).list('identities');
    (await client.delete(`/account/identities/${before[0]?.$id}`)).expect(204);
    const nobody = await logIn(key, changesOf({ claims: { email: undefined }, ...example.nobody }));
    const second = (await createClient(target, { session: nobody.session }).get('/account')).expect(200).body;
    assert.deepEqual([second.email, second.$id === account.$id], ['', false]);
    const third = createClient(target, { session: nobody.session });
    const [linked] = (await third.get('/account/identities')).expect(200).list('identities');
    (await third.delete(`/account/identities/${linked?.$id}`)).expect(204);
    const unverified = verified ? example.unverified : {};
    if (unverified !== undefined)
      assertFailed((await logIn(key, changesOf(unverified))).end, 400, 'general_bad_request');

    const refused = await logIn(key, {}, true);
    const { error } = endOf(refused.end);
    assert.match(String(error?.type), /^user_oauth2_(unauthorized|provider_error)$/);
    assert.doesNotMatch(refused.end.location ?? '', /incorrect|Invalid|Bad%20|Unable/);
    assert.equal(refused.session, '');
  });
}

test('apple: the client secret is a JWT of the team, and the browser posts the answer back', async () => {
  const { query } = await logIn('apple');
  assert.equal(query.get('response_mode'), 'form_post');
  const secret = new URLSearchParams(String(call('appleid.apple.com/token')?.body)).get('client_secret') ?? '';
  assert.deepEqual(decodeProtectedHeader(secret), { alg: 'ES256', kid: 'KEY1234567' });
  const { iss, sub, aud, iat = 0, exp = 0 } = decodeJwt(secret);
  assert.deepEqual([iss, sub, aud, exp - iat], ['TEAM123456', 'client', 'https://appleid.apple.com', 300]);
});

test('twitch and x prove the client as they want it', async () => {
  await logIn('twitch');
  assert.equal(call('api.twitch.tv/helix/users')?.headers['client-id'], 'client');
  await logIn('x');
  assert.equal(
    call('api.x.com/2/oauth2/token')?.headers.authorization,
    `Basic ${Buffer.from('client:secret').toString('base64')}`,
  );
});

test("microsoft for every tenant: a token's issuer must be that of its tenant", async () => {
  const common = { appliance: target.appliance, project: target.neighbour };
  await addProvider(common, {
    key: 'microsoft',
    kind: 'oauth2',
    config: { clientId: 'client', clientSecret: 'secret' },
  });
  const host = 'https://login.microsoftonline.com';
  const answer = world.answer;
  const tid = '9188040d-6c67-4c5b-b112-36a304b66dad';
  for (const [iss, page] of [
    [`${host}/${tid}/v2.0`, '/done'],
    [`${host}/another/v2.0`, '/failed'],
  ] as const) {
    const example: Example = { ...(examples.microsoft as Example), issuer: `${host}/common/v2.0` };
    scene = {
      key: 'microsoft',
      example,
      changes: { claims: { sub: 'of-tenant', email: undefined, tid, iss } },
      refuses: false,
      nonce: '',
    };
    world.answer = (response, request) => {
      if (!request.url?.includes('.well-known')) return answer(response, request);
      const at = `${host}/common/v2.0`;
      const endpoints = {
        authorization_endpoint: `${at}/authorize`,
        token_endpoint: `${at}/token`,
        jwks_uri: `${at}/keys`,
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ issuer: `${host}/{tenantid}/v2.0`, ...endpoints }));
    };
    const browser = createBrowser(target);
    const pages = { success: `${app}/done`, failure: `${app}/failed` };
    const { location } = await browser.step(startUrl('sessions', 'microsoft', pages, 'neighbour'));
    const query = new URL(location ?? '').searchParams;
    scene.nonce = query.get('nonce') ?? '';
    const fields = new URLSearchParams({ code: 'code', state: query.get('state') ?? '' });
    const end = await browser.step(`${callbackOf('microsoft', 'neighbour')}?${fields}`);
    assert.equal(endOf(end).page, app + page, end.location ?? end.text);
  }
  world.answer = answer;
});
