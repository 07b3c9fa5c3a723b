// An identity provider that does what a test says: what comes of it when a provider, or somebody in its place, does what it must not.
import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { SignJWT, UnsecuredJWT } from 'jose';
import { type ReceivedCall, startReceiver } from '../harness/receiver.js';

/** The provider, and what it answers. */
export interface FakeProvider {
  readonly issuer: string;
  readonly calls: ReceivedCall[];
  /** Members of the discovery document that differ. */
  document: Record<string, unknown>;
  /** The claims of the ID token that differ; undefined ones are left out. */
  claims: Record<string, unknown>;
  /** Members of the answer with the tokens that differ; undefined ones are left out. */
  token: Record<string, unknown>;
  /** How the ID token is signed. */
  signs: 'properly' | 'with another key' | 'not at all' | 'with the client secret';
  /** Answers instead of it, where it returns true. */
  intercept: (call: ReceivedCall, response: ServerResponse) => boolean;
  /** Notes what the browser was sent with, and returns the address to which it goes back. */
  authorize(location: string, given?: Readonly<Record<string, string>>): string;
  /** A JWT with these claims, signed as `signs` says. */
  sign(claims: Readonly<Record<string, unknown>>): string | Promise<string>;
  /** Replaces the key that it signs by and publishes. */
  rotate(): void;
}

const aKey = (kid: string) => ({ kid, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) });
const first = aKey('one');
const other = aKey('one');

/** Starts a provider that behaves. */
export async function startFakeProvider(): Promise<FakeProvider> {
  const receiver = await startReceiver();
  const { origin: issuer, calls } = receiver;
  let nonce = '';
  let own = first;
  const token = () => {
    const now = Math.floor(Date.now() / 1000);
    return sign({ iss: issuer, aud: 'svc', sub: 'somebody', iat: now, exp: now + 300, nonce, ...fake.claims });
  };
  const sign = (claims: Readonly<Record<string, unknown>>) => {
    if (fake.signs === 'not at all') return new UnsecuredJWT(claims).encode();
    if (fake.signs === 'with the client secret')
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode('secret'));
    const { kid, privateKey } = fake.signs === 'properly' ? own : other;
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
  };
  const json = (response: ServerResponse, body: unknown, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  const fake: FakeProvider = {
    issuer,
    calls,
    document: {},
    claims: {},
    token: {},
    signs: 'properly',
    intercept: () => false,
    authorize: (location, given = {}) => {
      const { searchParams } = new URL(location);
      nonce = searchParams.get('nonce') ?? '';
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      const parameters = { code: 'code', state: searchParams.get('state') ?? '', iss: issuer, ...given };
      for (const [name, value] of Object.entries(parameters)) if (value !== '') back.searchParams.set(name, value);
      return back.href;
    },
    sign,
    rotate: () => {
      own = aKey('two');
    },
  };
  receiver.answer = (response, request) => {
    const path = new URL(request.url ?? '', issuer).pathname;
    const call = calls.at(-1);
    if (call !== undefined && fake.intercept(call, response)) return;
    if (path === '/.well-known/openid-configuration')
      json(response, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
        authorization_response_iss_parameter_supported: true,
        ...fake.document,
      });
    else if (path === '/jwks')
      json(response, {
        keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: own.kid, use: 'sig', alg: 'RS256' }],
      });
    else if (path === '/token')
      void Promise.resolve(token()).then((id_token) =>
        json(response, { access_token: 'access', token_type: 'Bearer', expires_in: 3600, id_token, ...fake.token }),
      );
    else json(response, { error: 'not_found' }, 404);
  };
  return fake;
}
