// svc user import and export: users of every origin come with ids, hashes, second factors and identities, and log in.
import assert from 'node:assert/strict';
import { createHash, pbkdf2Sync } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createGuardrails, generateSync } from 'otplib';
import { type Installation, install, type Server } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { vectors } from '../users/vectors.js';

type Json = Record<string, unknown>;
type Counts = { read: number; created: number; updated: number; skipped: number; failed: number };

let place: Installation;
let server: Server;
before(async () => {
  place = await install();
  Object.assign(place.env, { SVC_RATE_LIMIT: 'off', SVC_WEBHOOK_ALLOW_INSECURE: 'true' });
  for (const id of ['shop', 'copy', 'other']) await place.json(['project', 'create', id, '--id', id]);
  for (const project of ['shop', 'copy'])
    for (const key of ['google', 'github'])
      await place.json(
        ['provider', 'add', 'oauth2', '--project', project, '--key', key, '--client-id', 'id', '--secret-stdin'],
        'secret',
      );
  server = await place.serve();
});
after(() => place.dispose());

function written(name: string, content: string): string {
  writeFileSync(join(place.dir, name), content);
  return name;
}

async function imported(file: string, ...more: string[]): Promise<Counts & { code: number | null; err: string }> {
  const { code, out, err } = await place.svc(['user', 'import', file, '--project', 'shop', '--json', ...more]);
  return { ...JSON.parse(out || '{}'), code, err };
}

async function user(id: string): Promise<Json> {
  return place.json(['user', 'show', id, '--project', 'shop']);
}

async function send(path: string, method: string, body: Json | undefined, headers: Json) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { 'Content-Type': 'application/json', ...(headers as Record<string, string>) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Json };
}

const guest = (project = 'shop') => ({ 'X-Service-Project': project });
const logIn = (email: string, password: string, project?: string) =>
  send('/account/sessions/email', 'POST', { email, password }, guest(project));

async function assertLogsIn(email: string, password: string, project?: string): Promise<void> {
  const { status, body } = await logIn(email, password, project);
  assert.equal(status, 201, `${email}: ${JSON.stringify(body)}`);
  assert.equal((await logIn(email, `${password}!`, project)).status, 401, email);
}

const bcrypt = {
  hash: '$2b$06$abcdefghijklmnopqrstuuQWwSHPBVgYIPSHDYjADB6E06PzFapl6',
  password: 'Sammelpass-Wörter 7',
};
const salt = Buffer.from('some salt of it');
const pbkdf2 = (digest: string, iterations = 1000) =>
  pbkdf2Sync('keycloak password', salt, iterations, 32, digest).toString('base64');
const seed = 'JBSWY3DPEHPK3PXP';

test('users with hashes of every kind log in, also after an export and an import elsewhere', async () => {
  const lines = vectors.map(({ route, body: { password, ...options } }, at) => {
    const hashOptions = Object.fromEntries(
      Object.entries(options).map(([name, value]) => [lowered(name.replace(/^password/, '')), value]),
    );
    return { $id: `vector-${at}`, email: `v${at}@mail.example`, hash: route, password, hashOptions };
  });
  const pbkdf2Line = {
    ...{ $id: 'stretched', email: 'stretched@mail.example', hash: 'pbkdf2', password: pbkdf2('sha256') },
    hashOptions: { salt: salt.toString('base64'), iterations: 1000, digest: 'sha256' },
  };
  const whole = {
    ...{ $id: 'whole', email: 'Whole@Mail.example', phone: '+4915112345678', name: 'Whole 😀', labels: ['vip'] },
    ...{ prefs: { theme: { dark: true } }, registration: '2020-02-03T04:05:06.007+02:00', emailVerification: true },
    ...{ phoneVerification: true, status: true, totp: seed, hash: 'bcrypt', password: bcrypt.hash },
    identities: [{ provider: 'google', providerUid: '123', providerEmail: 'whole@gmail.example' }],
  };
  const own = await place.json<Json>(
    ['user', 'create', '--project', 'shop', '--email', 'own@mail.example', '--id', 'own', '--password-stdin'],
    'own long password',
  );
  assert.equal(own.$id, 'own');
  const all = [...lines, pbkdf2Line, whole].map((line) => JSON.stringify(line)).join('\n');
  const dry = await imported(written('all.ndjson', all), '--dry-run');
  assert.deepEqual([dry.code, dry.created, dry.failed], [5, vectors.length + 2, 0], dry.err);
  const made = await imported('all.ndjson');
  const read = vectors.length + 2;
  assert.deepEqual([made.code, made.read, made.created, made.failed], [0, read, read, 0], made.err);

  const shown = await user('whole');
  assert.equal(shown.$createdAt, '2020-02-03T02:05:06.007+00:00');
  const { email, phone, name, labels, prefs, emailVerification, phoneVerification, mfa } = shown;
  assert.deepEqual(
    { email, phone, name, labels, prefs, emailVerification, phoneVerification, mfa },
    {
      ...{ email: 'whole@mail.example', phone: '+4915112345678', name: 'Whole 😀', labels: ['vip'] },
      ...{ prefs: { theme: { dark: true } }, emailVerification: true, phoneVerification: true, mfa: true },
    },
  );

  for (const format of ['svc', 'csv']) {
    const file = `export.${format}`;
    await place.json(['user', 'export', file, '--project', 'shop', '--format', format]);
    assert.equal(statSync(join(place.dir, file)).mode & 0o777, 0o600);
    const target = format === 'svc' ? 'copy' : 'other';
    // The project without providers refuses the user with an identity.
    const { code, out } = await place.svc(['user', 'import', file, '--project', target, '--json']);
    const counts = JSON.parse(out);
    assert.deepEqual([code, counts.created], format === 'svc' ? [0, read + 1] : [1, read]);
  }
  const [exported, again] = await Promise.all(
    ['shop', 'copy'].map(async (project) => (await place.svc(['user', 'export', '--project', project])).out),
  );
  assert.equal(again, exported);

  for (const [at, { password }] of vectors.entries()) {
    await assertLogsIn(`v${at}@mail.example`, password);
    assert.equal((await logIn(`v${at}@mail.example`, password, 'copy')).status, 201, vectors[at]?.name);
  }
  for (const project of ['copy', 'other']) {
    await assertLogsIn('stretched@mail.example', 'keycloak password', project);
    await assertLogsIn('own@mail.example', 'own long password', project);
  }
  for (const project of ['shop', 'copy']) {
    const { body: refused } = await logIn('whole@mail.example', bcrypt.password, project);
    assert.equal(refused.type, 'user_more_factors_required', JSON.stringify(refused));
    const { secret: pending } = refused.pendingSession as { secret: string };
    const headers = { ...guest(project), 'X-Service-Session': pending };
    const challenge = await send('/account/mfa/challenges', 'POST', { factor: 'totp' }, headers);
    const guardrails = createGuardrails({ MIN_SECRET_BYTES: 10 });
    const options = { challengeId: challenge.body.$id, otp: generateSync({ secret: seed, guardrails }) };
    const proved = await send('/account/mfa/challenges', 'PUT', options, headers);
    assert.equal(proved.status, 200, JSON.stringify([challenge, proved]));
    const session = { ...guest(project), 'X-Service-Session': proved.body.secret };
    assert.equal((await send('/account', 'GET', undefined, session)).body.$id, 'whole');
  }
  const secret = await place.svc(['user', 'export', '--project', 'shop', '--without-secrets']);
  assert.doesNotMatch(secret.out, /JBSWY3DP|\$2b\$|"password"|"totp"/);
});

const lowered = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);

test('an import can be run again, and reports what it refuses', async () => {
  const lines = [
    ...[
      { $id: 'one', email: 'one@mail.example' },
      { email: 'two@mail.example', name: 'Two' },
    ],
    ...[{ $id: 'bad id!' }, { $id: 'three', email: 'one@mail.example' }, { $id: 'four', email: 'no address' }],
    ...[
      { $id: 'five', hash: 'md5', password: 'short' },
      { $id: 'six', identities: [{ provider: 'none', providerUid: 'x', providerEmail: '' }] },
    ],
    { $id: 'seven', hash: 'rot13', password: 'x' },
  ];
  const file = written('some.ndjson', `${lines.map((line) => JSON.stringify(line)).join('\n')}\n[1]\n`);
  const first = await imported(file, '--format', 'svc', '--report', 'report.ndjson');
  assert.deepEqual([first.code, first.read, first.created, first.failed], [1, 9, 2, 7], first.err);
  const again = await imported(file, '--format', 'svc', '--resume');
  assert.deepEqual([again.code, again.created, again.skipped, again.failed], [1, 0, 2, 7]);
  const refused = again.err.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  assert.deepEqual(
    refused.map(({ line, type }) => [line, type]),
    [
      ...[
        [3, 'user_invalid'],
        [4, 'user_already_exists'],
        [5, 'user_invalid'],
        [6, 'general_argument_invalid'],
      ],
      ...[
        [7, 'provider_not_found'],
        [8, 'general_argument_invalid'],
        [9, 'user_invalid'],
      ],
    ],
  );
  assert.doesNotMatch(again.err, /short|rot13/);
  const unknown = await imported(written('unknown.json', '{"a":1}'));
  assert.deepEqual([unknown.code, /--format/.test(unknown.err)], [2, true]);
  const cut = await imported(written('cut.json', '[{"$id":"eight","name":"Eight"},{"$id":'));
  assert.deepEqual([cut.code, cut.created, cut.failed], [1, 1, 1]);
});

test('the custom hashes of Auth0 log in, but for salted digests', async () => {
  const digest = (algorithm: string, encoding: 'hex' | 'base64') => ({
    algorithm,
    hash: { value: createHash(algorithm).update('keycloak password').digest(encoding), encoding },
  });
  const stretched = pbkdf2('sha256').replace(/=+$/, '');
  const hashes = {
    bcrypt: { algorithm: 'bcrypt', hash: { value: bcrypt.hash } },
    md5: digest('md5', 'base64'),
    sha256: digest('sha256', 'hex'),
    pbkdf2: {
      algorithm: 'pbkdf2',
      hash: { value: `$pbkdf2-sha256$i=1000,l=32$${salt.toString('base64').replace(/=+$/, '')}$${stretched}` },
    },
    salted: { ...digest('md5', 'hex'), salt: { value: 'salt', position: 'prefix' } },
    unknown: { algorithm: 'pbkdf2', hash: { value: 'of another form' } },
  };
  const rows = Object.entries(hashes).map(([name, hash]) =>
    JSON.stringify({
      user_id: `auth0|custom-${name}`,
      email: `custom-${name}@mail.example`,
      custom_password_hash: hash,
    }),
  );
  const found = await imported(written('auth0-custom.ndjson', rows.join('\n')), '--format', 'auth0');
  assert.deepEqual([found.created, found.failed], [4, 2], found.err);
  assert.match(found.err, /The password hash has a form that cannot be verified\./);
  await assertLogsIn('custom-bcrypt@mail.example', bcrypt.password);
  for (const name of ['md5', 'sha256', 'pbkdf2'])
    await assertLogsIn(`custom-${name}@mail.example`, 'keycloak password');
});

test('rows and columns without a user are refused, and unknown columns named', async () => {
  const semicolons = await imported(written('semi.csv', 'Id;E-Mail;Name\na1;a1@mail.example;A\n'), '--format', 'csv');
  assert.deepEqual([semicolons.code, /emailVerification/.test(semicolons.err)], [2, true], semicolons.err);
  const csv =
    '$id,email,emailVerification,registered_on\nflagged,flagged@mail.example,TRUE,2020\nother,o@mail.example,False,\n';
  const found = await imported(written('sheet.csv', csv));
  assert.deepEqual(
    [found.code, found.created, (found as unknown as Json).ignored],
    [0, 2, ['registered_on']],
    found.err,
  );
  assert.deepEqual([(await user('flagged')).emailVerification, (await user('other')).emailVerification], [true, false]);
  const rows = ['{"foo":1}', '{"$id":"alone"}', '{"$id":"named","name":"Named"}'].join('\n');
  const some = await imported(written('some-rows.ndjson', rows), '--format', 'svc');
  assert.deepEqual([some.code, some.created, some.failed], [1, 1, 2]);
  assert.match(some.err, /no user: it has none of email, phone/);
});

test('exports of Appwrite, Firebase, Supabase, PocketBase, Auth0 and Keycloak are found by their members', async () => {
  const firebase = vectors.find(({ name }) => name === 'Firebase')?.body ?? {};
  written(
    'hash-config.txt',
    `hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: ${firebase.passwordSignerKey},\n  base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 14,\n}\n`,
  );
  const person = (origin: string) => `${origin}@origin.example`;
  const keycloak = (data: Json, secret: Json) => ({
    ...{ type: 'password', secretData: JSON.stringify(secret), credentialData: JSON.stringify(data) },
  });
  const files: Readonly<Record<string, readonly [content: string, ...flags: string[]]>> = {
    appwrite: [
      JSON.stringify({
        total: 1,
        users: [
          {
            ...{
              $id: 'appwrite',
              email: person('appwrite'),
              phone: '',
              name: 'A',
              registration: '2021-01-01T00:00:00.000+00:00',
            },
            ...{
              password: bcrypt.hash,
              hash: 'bcrypt',
              hashOptions: { type: 'bcrypt', cost: 8 },
              prefs: [],
              targets: [],
            },
          },
        ],
      }).replace('"prefs":[]', '"prefs":{}'),
    ],
    firebase: [
      JSON.stringify(
        {
          users: [
            {
              ...{ localId: 'firebase', email: person('firebase'), emailVerified: true, displayName: 'F' },
              ...{ passwordHash: firebase.password, salt: firebase.passwordSalt, createdAt: '1609459200000' },
              providerUserInfo: [
                { providerId: 'google.com', rawId: '77', email: 'f@gmail.example' },
                { providerId: 'password', rawId: person('firebase') },
              ],
            },
          ],
        },
        null,
        2,
      ),
      ...['--hash-config', 'hash-config.txt'],
    ],
    supabase: [
      `id,email,encrypted_password,email_confirmed_at,raw_user_meta_data,created_at,phone\n6f1b9f0e-5b1c-4f5e-9d51-1d2f3a4b5c6d,${person('supabase')},${bcrypt.hash},2021-01-01 00:00:00+00,"{""full_name"": ""S""}",2021-01-01 00:00:00+00,\n`,
    ],
    pocketbase: [
      JSON.stringify([
        {
          ...{ id: 'pocketbase', email: person('pocketbase'), emailVisibility: false, verified: 1, name: 'P', age: 7 },
          ...{ password: bcrypt.hash, tokenKey: 'x', created: '2021-01-01 00:00:00.000Z' },
        },
      ]),
    ],
    auth0: [
      `${JSON.stringify({
        ...{
          user_id: 'auth0|auth0',
          email: person('auth0'),
          email_verified: true,
          created_at: '2021-01-01T00:00:00.000Z',
        },
        ...{
          passwordHash: bcrypt.hash,
          name: '0',
          identities: [{ provider: 'github', user_id: 9, connection: 'github' }],
        },
      })}\n`,
    ],
    keycloak: [
      JSON.stringify({
        id: 'realm',
        realm: 'shop',
        roles: { realm: [{ id: 'r', name: 'admin' }] },
        users: ['sha1', 'sha256', 'sha512', 'argon2'].map((digest) => ({
          ...{ id: `keycloak-${digest}`, email: person(`keycloak-${digest}`), emailVerified: true, enabled: true },
          ...{ firstName: 'K', createdTimestamp: 1_609_459_200_000, requiredActions: [] },
          credentials: [
            digest === 'argon2'
              ? keycloak(
                  {
                    ...{ algorithm: 'argon2', hashIterations: 2 },
                    additionalParameters: { memory: ['65536'], type: ['id'], version: ['1.3'], parallelism: ['1'] },
                  },
                  { value: 'CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc=', salt: 'c29tZXNhbHQ=' },
                )
              : keycloak(
                  { algorithm: digest === 'sha1' ? 'pbkdf2' : `pbkdf2-${digest}`, hashIterations: 1000 },
                  { value: pbkdf2(digest), salt: salt.toString('base64') },
                ),
          ],
        })),
        clients: [{ id: 'c' }],
      }),
    ],
  };
  for (const [origin, [content, ...flags]] of Object.entries(files)) {
    const made = await imported(written(`${origin}.file`, content), ...flags);
    assert.deepEqual([made.code, made.failed], [0, 0], `${origin}: ${made.err}`);
    assert.equal(made.created, origin === 'keycloak' ? 4 : 1, origin);
  }
  for (const origin of ['appwrite', 'supabase', 'pocketbase', 'auth0'])
    await assertLogsIn(person(origin), bcrypt.password);
  await assertLogsIn(person('firebase'), 'user1password');
  for (const digest of ['sha1', 'sha256', 'sha512'])
    await assertLogsIn(person(`keycloak-${digest}`), 'keycloak password');
  await assertLogsIn(person('keycloak-argon2'), 'password');
  for (const [id, name] of Object.entries({
    appwrite: 'A',
    firebase: 'F',
    pocketbase: 'P',
    auth0: '0',
    'keycloak-sha1': 'K',
  })) {
    const found = await user(id);
    assert.deepEqual([found.name, found.$createdAt], [name, '2021-01-01T00:00:00.000+00:00'], id);
  }
  assert.deepEqual((await user('pocketbase')).prefs, { age: 7 });
  assert.equal((await user(person('supabase'))).name, 'S');
});
