// Tokens that nobody was given: each is refused alike, by whatever it differs from a real one.
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { aBearer, decode, forge, keyOf, mint, type Part, type Signer } from './setup.js';

const target = await startAppliance();
const user = await aBearer(target, { alg: 'RS256' });
const rsToken = user.jwt;
const hsToken = await mint(user.client);
const neighbours = createClient(target, { project: target.neighbour.id });
const foreigner = await aBearer({ ...target, project: target.neighbour } as typeof target, { alg: 'RS256' });
const hs = await keyOf(target, 'HS256');
const rs = await keyOf(target, 'RS256');
const foreign = await keyOf(target, 'RS256', target.neighbour.id);
const { header: hsHeader, claims } = decode(hsToken);
const { header: rsHeader } = decode(rsToken);
const keys = (await createClient(target).get('/keys')).expect(200).list('keys');
const jwk = keys[0] as { n: string; e: string; kty: string };
const published = createPublicKey({ key: jwk, format: 'jwk' });
const own = generateKeyPairSync('rsa', { modulusLength: 2048 });
const now = () => Math.floor(target.clock.now() / 1000);

const without = (part: Part, name: string): Part =>
  Object.fromEntries(Object.entries(part).filter(([key]) => key !== name));
const signedHs = (header: Part, payload: unknown = claims) => forge({ ...hsHeader, ...header }, payload, hs.signer);
const signedRs = (header: Part, payload: unknown = claims) => forge({ ...rsHeader, ...header }, payload, rs.signer);
const claiming = (change: Part) => forge(hsHeader, { ...claims, ...change }, hs.signer);
const spoiled = (token: string, at: number) => {
  const parts = token.split('.');
  const part = parts[at] ?? '';
  parts[at] = `${part.slice(0, 10)}${part[10] === 'A' ? 'B' : 'A'}${part.slice(11)}`;
  return parts.join('.');
};
/** The same bytes: the last of 43 characters has two bits to spare. */
const respelled = (token: string) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.slice(-1)) + 1]}`;
  const bytes = (text: string) => Buffer.from(text.split('.').at(-1) ?? '', 'base64url').toString('hex');
  assert.deepEqual([bytes(other), other === token], [bytes(token), false]);
  return other;
};
const bySecret = (secret: Buffer | string): Signer => ({ secret });

test('the forger here is a good one: what differs in nothing is accepted', async () => {
  for (const jwt of [signedHs({}), signedRs({}), claiming({ email: 'another@mail.example' })])
    assert.equal((await createClient(target, { jwt }).get('/account')).expect(200).body.$id, user.id);
});

const pem = published.export({ format: 'pem', type: 'spki' }).toString();
const der = published.export({ format: 'der', type: 'spki' });
const forgeries: [string, () => string][] = [
  ['alg none', () => forge({ ...hsHeader, alg: 'none' }, claims, undefined)],
  ['alg None', () => forge({ ...rsHeader, alg: 'None' }, claims, undefined)],
  ['alg none with a signature', () => signedHs({ alg: 'none' })],
  ['no alg', () => forge(without(hsHeader, 'alg'), claims, hs.signer)],
  ['no signature', () => `${hsToken.split('.').slice(0, 2).join('.')}.`],
  ['the same signature in another spelling', () => respelled(hsToken)],
  ['two parts', () => hsToken.split('.').slice(0, 2).join('.')],
  ['four parts', () => `${hsToken}.e30`],
  ['another signature', () => spoiled(hsToken, 2)],
  ['other claims than were signed', () => spoiled(rsToken, 1)],
  ['another header than was signed', () => spoiled(hsToken, 0)],
  ['an HMAC by the public key as PEM', () => forge({ ...rsHeader, alg: 'HS256' }, claims, bySecret(pem))],
  [
    'an HMAC by the public key as PEM without its last newline',
    () => forge({ ...rsHeader, alg: 'HS256' }, claims, bySecret(pem.trim())),
  ],
  ['an HMAC by the public key as DER', () => forge({ ...rsHeader, alg: 'HS256' }, claims, bySecret(der))],
  [
    'an HMAC by the modulus',
    () => forge({ ...rsHeader, alg: 'HS256' }, claims, bySecret(Buffer.from(jwk.n, 'base64url'))),
  ],
  [
    'an HMAC by the published key set',
    () => forge({ ...rsHeader, alg: 'HS256' }, claims, bySecret(JSON.stringify({ keys }))),
  ],
  ['an HMAC by nothing', () => forge(hsHeader, claims, bySecret(''))],
  ['the kid of the RSA key over a true HMAC', () => signedHs({ kid: rs.kid })],
  ['the kid of the HMAC key over a true RSA signature', () => signedRs({ kid: hs.kid })],
  ['RS256 said of a true HMAC', () => signedHs({ alg: 'RS256' })],
  ['HS512 said of a true HMAC', () => signedHs({ alg: 'HS512' })],
  ['PS256 said of a true RSA signature', () => signedRs({ alg: 'PS256' })],
  ['a key of the forger', () => forge(rsHeader, claims, { key: own.privateKey })],
  [
    'a key of the forger, brought along',
    () => forge({ ...rsHeader, jwk: own.publicKey.export({ format: 'jwk' }) }, claims, { key: own.privateKey }),
  ],
  ['a true signature beside a key brought along', () => signedRs({ jwk: own.publicKey.export({ format: 'jwk' }) })],
  ['jku', () => signedRs({ jku: 'https://attacker.example/keys' })],
  ['x5u', () => signedRs({ x5u: 'https://attacker.example/cert' })],
  ['x5c', () => signedRs({ x5c: ['MIIB'] })],
  ['x5t', () => signedRs({ x5t: 'abc' })],
  ['crit', () => signedHs({ crit: ['exp'], exp: 1 })],
  ['crit of an extension that is known', () => signedHs({ crit: ['b64'], b64: true })],
  ['cty of a nested token', () => signedHs({ cty: 'JWT' })],
  ['typ of another kind', () => signedHs({ typ: 'at+jwt' })],
  ['no typ', () => forge(without(hsHeader, 'typ'), claims, hs.signer)],
  ['no kid', () => forge(without(hsHeader, 'kid'), claims, hs.signer)],
  ['an unknown kid', () => signedHs({ kid: '0'.repeat(20) })],
  ['a kid that is a path', () => signedHs({ kid: '../../../dev/null' })],
  ['a kid that is SQL', () => signedHs({ kid: "' or '1'='1" })],
  ['a kid with a NUL character', () => signedHs({ kid: `${hs.kid}\0` })],
  ['a kid that is a number', () => signedHs({ kid: 7 })],
  ['a kid that is a list', () => signedHs({ kid: [hs.kid] })],
  ['a kid of 65 characters', () => signedHs({ kid: 'a'.repeat(65) })],
  ['a kid named like a member of every object', () => signedHs({ kid: '__proto__' })],
  ['the kid of another project', () => signedHs({ kid: foreign.kid })],
  [
    'a key of another project, said to be of this one',
    () => forge({ ...rsHeader, kid: foreign.kid }, claims, foreign.signer),
  ],
  ['a true token of another project', () => foreigner.jwt],
  ['another issuer', () => claiming({ iss: 'https://attacker.example' })],
  ['the issuer of another project', () => claiming({ iss: String(claims.iss).replace(/main$/, 'neighbour') })],
  ['the issuer with a slash', () => claiming({ iss: `${claims.iss}/` })],
  ['another audience', () => claiming({ aud: 'neighbour' })],
  ['an audience in capitals', () => claiming({ aud: 'MAIN' })],
  ...['iss', 'aud', 'sub', 'iat', 'exp', 'sid', 'jti'].map((name): [string, () => string] => [
    `no ${name}`,
    () => forge(hsHeader, without(claims, name), hs.signer),
  ]),
  ['an exp that is over', () => claiming({ iat: now() - 120, exp: now() - 60 })],
  ['an exp that is text', () => claiming({ exp: '9999999999' })],
  ['an exp that is true', () => claiming({ exp: true })],
  ['an exp that is null', () => claiming({ exp: null })],
  ['an iat in the future', () => claiming({ iat: now() + 60, exp: now() + 120 })],
  ['an iat two hours ago', () => claiming({ iat: now() - 7200, exp: now() + 60 })],
  ['an nbf in the future', () => claiming({ nbf: now() + 60 })],
  ['a sub that is empty', () => claiming({ sub: '' })],
  ['a sub that is a number', () => claiming({ sub: 7 })],
  ['the sub of another user', () => claiming({ sub: foreigner.id })],
  ['a sid that is a number', () => claiming({ sid: 7 })],
  ['a sid of another user', () => claiming({ sid: foreigner.sessionId })],
  ['a sid that nobody has', () => claiming({ sid: '0'.repeat(20) })],
  ['a sid that is SQL', () => claiming({ sid: "' or '1'='1" })],
  ['a sid with a NUL character', () => claiming({ sid: '\0' })],
  ['no session, although none was left out when it was made', () => claiming({ sid: '' })],
  ['claims that are a list', () => signedHs({}, [claims])],
  ['claims that are text', () => signedHs({}, 'claims')],
  ['claims that are null', () => signedHs({}, null)],
  ['a header that is a list', () => forge([hsHeader], claims, hs.signer)],
  ['a header that is null', () => forge(null, claims, hs.signer)],
  ['more than 4096 bytes', () => claiming({ filling: 'x'.repeat(4096) })],
  ['bytes that are none', () => '%%%.%%%.%%%'],
  [
    'base64 with its padding',
    () =>
      hsToken
        .split('.')
        .map((part) => `${part}=`)
        .join('.'),
  ],
  ['five parts, as if it were encrypted', () => 'e30.e30.e30.e30.e30'],
  ['nothing between the dots', () => '..'],
  ['noise', () => [1, 2, 3].map(() => randomBytes(60).toString('base64url')).join('.')],
];
for (const [name, make] of forgeries) {
  test(`a token with ${name} is refused, where guests may call too, and leaves nothing behind`, async () => {
    const client = createClient(target, { jwt: make() });
    const { value, recorded } = await recordedBy(target, () => client.get('/account'));
    value.refused(401, 'user_jwt_invalid');
    assert.deepEqual(recorded, nothing);
    (await client.get('/openapi.json')).refused(401, 'user_jwt_invalid');
    (await client.get('/databases/main/collections/orders/documents')).refused(401, 'user_jwt_invalid');
  });
}

test('a token of this project is worth nothing in another', async () => {
  for (const jwt of [hsToken, rsToken])
    (await neighbours.with({ jwt }).get('/account')).refused(401, 'user_jwt_invalid');
});

test('any change of one character is refused', async () => {
  const { jwt } = await aBearer(target);
  const tried = Array.from({ length: 60 }, (_, at) => Math.floor((at * jwt.length) / 60));
  for (const at of tried) {
    const other = `${jwt.slice(0, at)}${jwt[at] === 'x' ? 'y' : 'x'}${jwt.slice(at + 1)}`;
    // The last character of a part holds bits that mean nothing.
    const isSame = ['.', undefined].includes(jwt[at + 1]) || jwt[at] === '.';
    if (!isSame) (await createClient(target, { jwt: other }).get('/account')).refused(401, 'user_jwt_invalid');
  }
});
