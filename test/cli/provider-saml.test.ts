// SAML providers by command, and `svc provider test` for every kind: what is wrong is said with what to do about it.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { selfSigned } from '../harness/certificate.js';
import { type Installation, install } from '../harness/cli.js';
import { startReceiver } from '../harness/receiver.js';
import { after } from '../harness/runner.js';

interface Finding {
  readonly code: string;
  readonly level: string;
  readonly message: string;
  readonly fix: string;
}
type Tested = { ok: boolean; findings: Finding[] };

const day = 86_400_000;
const shop = ['--project', 'shop'];
const idp = await startReceiver();
const own = selfSigned(['idp'], { bits: 2048, until: Date.now() + 400 * day });
let place: Installation;
before(async () => {
  place = await install();
  place.env.SVC_WEBHOOK_ALLOW_INSECURE = 'true';
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
});
after(() => place.dispose());

const base64 = (pem: string) => pem.replace(/-----[A-Z ]+-----|\s/g, '');
const metadataOf = (
  certificates: readonly string[] = [own.cert],
  { entityId = `${idp.origin}/idp`, sso = `${idp.origin}/sso` } = {},
) =>
  `<?xml version="1.0"?><!-- made by a test --><EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">` +
  `<SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${base64(selfSigned(['x'], { bits: 2048 }).cert)}</X509Certificate></X509Data></KeyInfo></KeyDescriptor></SPSSODescriptor>` +
  `<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${certificates
    .map(
      (cert) =>
        `<KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${base64(cert)}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`,
    )
    .join(
      '',
    )}<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${sso}/post"/><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${sso}"/></IDPSSODescriptor></EntityDescriptor>`;
let answers: Record<string, (response: ServerResponse) => void> = {};
const serve = (given: typeof answers) => {
  answers = given;
};
idp.answer = (response, { url = '' }) => (answers[url] ?? ((one) => one.writeHead(404).end()))(response);
const text =
  (body: string, status = 200) =>
  (response: ServerResponse) =>
    response.writeHead(status).end(body);
const json = (body: unknown) => text(JSON.stringify(body));
const tested = async (key: string): Promise<Tested & { code: number | null }> => {
  const { code, out } = await place.svc(['provider', 'test', key, ...shop, '--json']);
  return { ...(JSON.parse(out) as Tested), code };
};
const codesOf = ({ findings }: Tested) => findings.map(({ code, level }) => `${level} ${code}`).sort();
const addSaml = (key: string, ...flags: string[]) => ['provider', 'add', 'saml', ...shop, '--key', key, ...flags];

test('refuses metadata that is not of a SAML provider, with advice, and stores nothing', async () => {
  writeFileSync(join(place.dir, 'post.xml'), metadataOf().replaceAll(/HTTP-(Redirect|POST)/g, 'SOAP'));
  writeFileSync(join(place.dir, 'bomb.xml'), `<!DOCTYPE x [<!ENTITY a "b">]>${metadataOf()}`);
  writeFileSync(
    join(place.dir, 'two.xml'),
    `<r>${metadataOf().replace(/<\?xml[^>]*>/, '')}${metadataOf().replace(/<\?xml[^>]*>/, '')}</r>`,
  );
  writeFileSync(join(place.dir, 'weak.pem'), selfSigned(['x'], { bits: 1024 }).cert);
  writeFileSync(join(place.dir, 'good.pem'), own.cert);
  serve({ '/nonsense': text('<html>not found</html>'), '/gone': text('', 404) });
  const described = ['--idp-entity-id', 'x', '--sso-url', 'https://idp.example.com/sso'];
  const refused: readonly [readonly string[], number, RegExp][] = [
    [[], 2, /acs\?project=shop/],
    [['--metadata-url', `${idp.origin}/nonsense`], 2, /not that of one SAML identity provider/],
    [['--metadata-url', `${idp.origin}/gone`], 2, /answers 404/],
    [['--metadata-url', 'http://127.0.0.1:9'], 2, /port/],
    [['--metadata-url', 'http://127.0.0.1:1025'], 6, /connection was refused/],
    [['--metadata-file', 'none.xml'], 3, /none\.xml/],
    [['--metadata-file', 'bomb.xml'], 2, /doctype/],
    [['--metadata-file', 'two.xml'], 2, /not that of one/],
    [['--metadata-file', 'post.xml'], 2, /address for logins by HTTP-Redirect or HTTP-POST of the provider is missing/],
    [['--metadata-file', 'bomb.xml', '--metadata-url', idp.origin], 2, /exclude each other/],
    [[...described, '--cert-file', 'weak.pem'], 2, /2048 bits/],
    [[...described, '--cert-file', 'bomb.xml'], 2, /no certificate/],
    [[...described.slice(0, 3), 'javascript:alert(1)', '--cert-file', 'good.pem'], 2, /https URL/],
    [[...described, '--cert-file', 'good.pem', '--client-id', 'x'], 2, /--client-id is not for/],
    [[...described, '--cert-file', 'good.pem', '--idp-initiated', 'on'], 2, /--idp-initiated-page/],
  ];
  for (const [flags, exit, message] of refused) {
    const { code, out, err } = await place.svc(addSaml('corp', ...flags));
    assert.deepEqual([code, out], [exit, ''], `${flags.join(' ')}: ${err}`);
    assert.match(err, message);
    assert.doesNotMatch(err, /\bat .*\.js:|select |insert /i);
  }
  const oidc = ['provider', 'add', 'oidc', ...shop, '--key', 'corp', '--issuer', 'https://x.example.com'];
  assert.match((await place.svc(oidc)).err, /--client-id is required/);
  assert.match(
    (await place.svc([...oidc, '--client-id', 'x', '--sso-url', 'https://x.example.com'])).err,
    /--sso-url is not for/,
  );
  assert.deepEqual(await place.json(['provider', 'list', ...shop]), { total: 0, providers: [] });
});

test('a provider that is slow ends the command within its ten seconds', async () => {
  serve({ '/slow': () => {} });
  const begun = performance.now();
  const { code, err } = await place.svc(addSaml('slow', '--metadata-url', `${idp.origin}/slow`));
  assert.equal(code, 6, err);
  assert.match(err, /within the time limit/);
  assert.ok(performance.now() - begun < 20_000);
});

test('a provider is added by its metadata, shown with the addresses to register, and changed', async () => {
  serve({ '/metadata': text(metadataOf()), '/sso': text('') });
  const flags = [
    '--metadata-url',
    `${idp.origin}/metadata`,
    '--email-domains',
    'Example.com, example.org',
    '--uid-attribute',
    'id',
  ];
  const added = await place.json<Record<string, unknown>>(addSaml('corp', ...flags));
  assert.deepEqual(
    [added.kind, added.entityId, added.ssoUrl, added.emailDomains, added.uidAttribute, added.idpInitiated],
    ['saml', `${idp.origin}/idp`, `${idp.origin}/sso`, ['example.com', 'example.org'], 'id', false],
  );
  assert.match(String(added.acsUrl), /\/v1\/account\/sessions\/saml\/corp\/acs\?project=shop$/);
  assert.match(String(added.spEntityId), /\/v1\/account\/sessions\/saml\/corp\/metadata\?project=shop$/);
  assert.equal((added.certificates as unknown[]).length, 1);
  const shown = await place.svc(['provider', 'show', 'corp', ...shop]);
  assert.match(shown.out, /ACS URL +http/);
  const changed = await place.json<Record<string, unknown>>([
    'provider',
    'update',
    'corp',
    ...shop,
    '--name-id-format',
    'persistent',
  ]);
  assert.deepEqual([changed.nameIdFormat, changed.entityId], ['persistent', added.entityId]);
  serve({ '/other': text(metadataOf([own.cert], { entityId: 'https://other.example' })) });
  const other = await place.svc(['provider', 'update', 'corp', ...shop, '--metadata-url', `${idp.origin}/other`]);
  assert.equal(other.code, 2);
  assert.match(other.err, /cannot change/);
  writeFileSync(join(place.dir, 'good.pem'), own.cert);
  const described = ['--idp-entity-id', 'urn:idp', '--sso-url', `${idp.origin}/sso`, '--cert-file', 'good.pem'];
  const byHand = await place.json<Record<string, unknown>>(addSaml('hand', ...described));
  assert.deepEqual([byHand.entityId, byHand.metadataUrl], ['urn:idp', undefined]);
});

test('test: a SAML provider that is as it was added has no findings', async () => {
  serve({ '/metadata': text(metadataOf()), '/sso': text('', 400) });
  assert.deepEqual(await tested('corp'), { ok: true, findings: [], code: 0 });
  const { out } = await place.svc(['provider', 'test', 'corp', ...shop]);
  assert.match(out, /^Nothing wrong was found with the provider corp: .* were tried\. .* by a login only\.$/m);
});

test('test: metadata, login page and clock of a SAML provider', async () => {
  const sso = text('');
  const newer = selfSigned(['idp'], { bits: 2048 }).cert;
  const late = (response: ServerResponse) =>
    response.writeHead(200, { Date: new Date(Date.now() - 300_000).toUTCString() }).end(metadataOf());
  const cases: readonly [typeof answers, string[]][] = [
    [{ '/metadata': text(metadataOf([own.cert, newer])), '/sso': sso }, ['warning certificate_added']],
    [{ '/metadata': text(metadataOf([newer])), '/sso': sso }, ['error certificates_replaced']],
    [{ '/metadata': text(metadataOf([own.cert], { entityId: 'urn:x' })), '/sso': sso }, ['error entity_id_differs']],
    [
      { '/metadata': text(metadataOf([own.cert], { sso: 'https://x.example.com' })), '/sso': sso },
      ['warning login_page_differs'],
    ],
    [{ '/metadata': text('<html/>'), '/sso': sso }, ['error metadata_invalid']],
    [{ '/metadata': text(metadataOf(), 500), '/sso': sso }, ['error metadata_invalid']],
    [{ '/metadata': text(metadataOf()), '/sso': text('', 503) }, ['error login_page_fails']],
    [{ '/metadata': text(metadataOf()), '/sso': text('', 500) }, ['warning login_page_fails']],
    [{ '/metadata': late, '/sso': sso }, ['error clock_differs']],
  ];
  for (const [given, expected] of cases) {
    serve(given);
    const found = await tested('corp');
    assert.deepEqual(codesOf(found), expected);
    const isBad = expected.some((one) => one.startsWith('error'));
    assert.deepEqual([found.ok, found.code], [!isBad, isBad ? 1 : 0]);
    for (const { message, fix } of found.findings) assert.ok(message !== '' && fix !== '');
  }
  const fixed = await place.json<{ certificates: unknown[] }>([
    'provider',
    'update',
    'corp',
    ...shop,
    '--enabled',
    'off',
  ]);
  assert.equal(fixed.certificates.length, 1);
  serve({ '/metadata': text(metadataOf()), '/sso': sso });
  assert.deepEqual(codesOf(await tested('corp')), ['warning disabled']);
});

test('test: certificates that have expired or soon will', async () => {
  serve({ '/sso': text('') });
  const [expired, ending] = [
    selfSigned(['idp'], { bits: 2048, from: Date.now() - 9 * day, until: Date.now() - 2 * day }),
    selfSigned(['idp'], { bits: 2048, until: Date.now() + 20 * day }),
  ];
  const cases = [
    [[expired], ['error certificate_expired']],
    [[ending], ['warning certificate_expires']],
    [
      [expired, ending],
      ['warning certificate_expired', 'warning certificate_expires'],
    ],
    [[ending, own], []],
    [[expired, own], ['warning certificate_expired']],
  ] as const;
  for (const [pairs, expected] of cases) {
    writeFileSync(join(place.dir, 'certs.pem'), pairs.map(({ cert }) => cert).join('\n'));
    await place.json(['provider', 'update', 'hand', ...shop, '--cert-file', 'certs.pem']);
    assert.deepEqual(codesOf(await tested('hand')), expected);
  }
});

test('a client without a secret: add names the next step, and test warns', async () => {
  const issuer = idp.origin;
  const members = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].map((name) => [name, `${issuer}/keys`]);
  const document = { issuer, ...Object.fromEntries(members) };
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  serve({
    '/.well-known/openid-configuration': json(document),
    '/keys': json({ keys: [publicKey.export({ format: 'jwk' })] }),
  });
  const add = ['provider', 'add', 'oidc', ...shop, '--key', 'open', '--issuer', issuer, '--client-id', 'svc'];
  const added = await place.svc(add);
  assert.equal(added.code, 0, added.err);
  assert.match(added.err, /^next: svc provider update open --project shop --secret-file FILE/m);
  const warned = await tested('open');
  assert.deepEqual([codesOf(warned), warned.ok, warned.code], [['warning secret_absent'], true, 0]);
  writeFileSync(join(place.dir, 'client-secret'), 'secret');
  await place.json(['provider', 'update', 'open', ...shop, '--secret-file', 'client-secret']);
  assert.deepEqual(codesOf(await tested('open')), []);
});

test('test: discovery, keys, endpoints and clock of an OpenID Connect provider', async () => {
  const issuer = idp.origin;
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
  };
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const keys = json({ keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'sig' }] });
  const found = '/.well-known/openid-configuration';
  serve({});
  const add = [
    'provider',
    'add',
    'oidc',
    ...shop,
    '--key',
    'id',
    '--issuer',
    issuer,
    '--client-id',
    'svc',
    '--secret-stdin',
  ];
  await place.json(add, 'secret');
  const cases: readonly [typeof answers, string[]][] = [
    [{ [found]: json(document), '/keys': keys }, []],
    [{}, ['error document_invalid']],
    [{ [found]: text('nonsense') }, ['error document_invalid']],
    [{ [found]: json({ ...document, issuer: `${issuer}/` }), '/keys': keys }, ['error issuer_differs']],
    [{ [found]: json(document), '/keys': json({ keys: [] }) }, ['error keys_unusable']],
    [{ [found]: json(document), '/keys': json({ keys: [{ kty: 'oct' }, null, 1] }) }, ['error keys_unusable']],
    [{ [found]: json({ ...document, token_endpoint: 'ftp://x' }), '/keys': keys }, ['error endpoint_insecure']],
    [{ [found]: json({ issuer }) }, ['error endpoint_insecure', 'error endpoint_insecure', 'error endpoint_insecure']],
  ];
  for (const [given, expected] of cases) {
    serve(given);
    assert.deepEqual(codesOf(await tested('id')), expected);
  }
  idp.answer = (_, { socket }) => socket.destroy();
  assert.deepEqual(codesOf(await tested('id')), ['error unreachable']);
});

test('test: credentials of a built-in provider, and one that does not exist', async () => {
  const key = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  const apple = [
    'provider',
    'add',
    'oauth2',
    ...shop,
    '--key',
    'apple',
    '--client-id',
    'x',
    '--team-id',
    'T',
    '--key-id',
    'K',
    '--secret-stdin',
  ];
  assert.match((await place.svc(apple, { input: 'no key' })).err, /private key/);
  await place.json(apple, String(key));
  assert.equal((await place.svc(['provider', 'test', 'nobody', ...shop])).code, 3);
});
