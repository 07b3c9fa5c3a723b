// Encrypted assertions: those of a real identity provider, and those that were made or tampered with by somebody who knows our certificate.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { before, test } from 'node:test';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { openSealed } from '../harness/sealed.js';
import { createBrowser, endOf, type Step } from '../oauth2/browser.js';
import { addProvider, startOpen } from '../oauth2/setup.js';
import { type Encryption, encryptedAssertion, encryptedDocument, methods, publishedOf, standalone } from './encrypt.js';
import { documentOf, encoded, freshId, own, partsOf, signed, stranger, takenApart } from './forge.js';
import { formOf, startSamlProvider } from './identity-providers.js';
import { acsOf, addForged, app, begin, post, saidOf } from './setup.js';

const target = await startOpen();
let certificate = '';
before(async () => {
  await addForged(target, 'corp');
  await addForged(target, 'other');
  certificate = (await publishedOf(target, 'corp')).encryption;
});

/** What becomes of a document that holds, posted for a login of its own. */
async function answerOf(make: (plain: string, signedXml: string) => string, key = 'corp') {
  const browser = createBrowser(target);
  const { relayState, requestId } = await begin(browser, key);
  const plain = documentOf(partsOf(saidOf(target, key, requestId)));
  const end = await post(browser, key, {
    SAMLResponse: encoded(make(plain, signed(plain))),
    RelayState: relayState,
  });
  return { browser, end };
}
const reasonOf = async ({ headers }: Step): Promise<unknown> => {
  const rows = await rowsOf(target, 'audit_entries');
  const row = rows.find(({ request_id: id, action }) => id === headers.get('x-request-id') && action === 'loginFailed');
  return JSON.parse(String(row?.data ?? '{}')).reason;
};
const counted = async () =>
  Promise.all(['users', 'sessions', 'used_answers'].map(async (name) => (await rowsOf(target, name)).length));

test('the metadata publishes a key for each purpose, which stay and are sealed', async () => {
  const [one, again, other] = [
    await publishedOf(target, 'corp'),
    await publishedOf(target, 'corp'),
    await publishedOf(target, 'other'),
  ];
  assert.equal(one.text, again.text);
  const keys = [one.encryption, one.signing, other.encryption, other.signing].map((pem) => new X509Certificate(pem));
  assert.equal(new Set(keys.map(({ fingerprint256 }) => fingerprint256)).size, 4);
  for (const { publicKey, validTo } of keys) {
    assert.equal(publicKey.asymmetricKeyDetails?.modulusLength, 3072);
    assert.ok(Date.parse(validTo) > target.clock.now() + 15 * 365 * 86_400_000);
  }
  const rows = await rowsOf(target, 'saml_keys');
  assert.deepEqual(rows.map(({ provider }) => provider).sort(), ['corp', 'other']);
  for (const { secrets, provider } of rows) {
    assert.doesNotMatch(String(secrets), /BEGIN/);
    assert.match(
      openSealed(target, target.project, ['saml_keys', 'secrets', String(provider)], secrets),
      /PRIVATE KEY/,
    );
  }
});

test('several who ask for the metadata at once get the same keys, which go with the provider', async () => {
  await addForged(target, 'fresh');
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => publishedOf(target, 'fresh')));
  for (const { text } of others) assert.equal(text, first?.text);
  const { runtime, features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'test' }, requestId: 'test' };
  await runtime.db.work(by, (unit) => features.providers.remove(unit, target.project, 'fresh'));
  assert.ok((await rowsOf(target, 'saml_keys')).every(({ provider }) => provider !== 'fresh'));
});

for (const algorithm of [methods.gcm256, methods.gcm128])
  test(`samlp encrypts by ${algorithm.split('#')[1]}`, async () => {
    const key = `samlp-${algorithm.split('#')[1]}`;
    const idp = await startSamlProvider('samlp', acsOf(key));
    const { entityId, cert } = idp;
    const ssoUrl = `${new URL(entityId).origin}/sso`;
    await addProvider(target, { key, kind: 'saml', config: { entityId, ssoUrl, certificates: [cert] } });
    idp.encryption = { certificate: (await publishedOf(target, key)).encryption, algorithm };
    const browser = createBrowser(target);
    const { location } = await begin(browser, key);
    const { fields } = formOf((await browser.step(location.href)).text);
    const xml = Buffer.from(fields.SAMLResponse ?? '', 'base64').toString();
    assert.ok(xml.includes('EncryptedAssertion') && !xml.includes(idp.user.id));
    assert.equal(endOf(await post(browser, key, fields)).page, `${app}/done`);
    const client = createClient(target, { session: browser.cookie('svc_main') ?? '' });
    const session = (await client.get('/account/sessions/current')).expect(200).body;
    assert.deepEqual([session.provider, session.providerUid], [key, idp.user.id]);
  });

const accepted: Readonly<Record<string, Omit<Encryption, 'certificate'>>> = {
  'RSA-OAEP of XML Encryption 1.1 with SHA-256': { wrap: methods.oaep11 },
  'RSA-OAEP of XML Encryption 1.1 with SHA-1': { wrap: methods.oaep11, hash: 'sha1' },
  'no name of the hash': { digest: null },
  'the key beside the data': { beside: true },
};
for (const [name, options] of Object.entries(accepted))
  test(`accepted: ${name}`, async () => {
    const { end } = await answerOf((_, xml) => encryptedDocument(xml, { certificate, ...options }));
    assert.equal(endOf(end).page, `${app}/done`);
  });

test('accepted: a response that is signed over the encrypted assertion', async () => {
  const sign = (xml: string) => signed(xml, { what: 'Response' });
  const { end } = await answerOf((_, xml) => sign(encryptedDocument(xml, { certificate })));
  assert.equal(endOf(end).page, `${app}/done`);
});

/** Everything that is refused, by the reason in the audit log. */
type Refused = readonly [name: string, reason: string, make: Parameters<typeof answerOf>[0]];
const encrypted = (options: Omit<Encryption, 'certificate'>) => (_: string, xml: string) =>
  encryptedDocument(xml, { certificate, ...options });
const changed = (from: string | RegExp, to: string | ((found: string) => string), options = {}) => {
  return (_: string, xml: string) => {
    const whole = encryptedDocument(xml, { certificate, ...options });
    const tampered = whole.replace(from, to as string);
    assert.notEqual(tampered, whole);
    return tampered;
  };
};
/** One bit of a cipher value is another: of the first one, which is the key, or of the last one, which is the assertion. */
const flipped = (which: 'key' | 'content', at: number, options = {}) =>
  changed(
    /(<xenc:CipherValue>)([^<]+)/g,
    function flip(this: void, found: string, ...rest: unknown[]) {
      const whole = String(rest.at(-1));
      const isFirst = whole.indexOf('<xenc:CipherValue>') === rest.at(-2);
      if (isFirst !== (which === 'key')) return found;
      const bytes = Buffer.from(String(rest[1]), 'base64');
      const place = at < 0 ? bytes.length + at : at;
      bytes[place] = (bytes[place] ?? 0) ^ 1;
      return `<xenc:CipherValue>${bytes.toString('base64')}`;
    } as (found: string) => string,
    options,
  );
const evil = (assertion: string) =>
  standalone(assertion)
    .replace(/ ID="[^"]*"/, ` ID="${freshId()}"`)
    .replace('somebody', 'admin');

const decryption: readonly Refused[] = [
  ['for another provider', 'decryption', (_, xml) => encryptedDocument(xml, { certificate: stranger.cert })],
  ['a bit of the key', 'decryption', flipped('key', 100)],
  ['a bit of the nonce', 'decryption', flipped('content', 0)],
  ['a bit of the text', 'decryption', flipped('content', 40)],
  ['a bit of the tag', 'decryption', flipped('content', -1)],
  ['less than a nonce', 'decryption', changed(/(?<=<\/ds:KeyInfo><xenc:CipherData><xenc:CipherValue>)[^<]+/, 'AAAA')],
  [
    'another hash than the one that is named',
    'decryption',
    encrypted({ hash: 'sha256', wrap: methods.oaep, digest: 'http://www.w3.org/2000/09/xmldsig#sha1' }),
  ],
  ['a key of another length', 'decryption', changed(methods.gcm256, methods.gcm128)],
];
const refused: readonly Refused[] = [
  ...decryption,
  ['RSA PKCS#1 v1.5', 'algorithm of the encryption', encrypted({ wrap: methods.pkcs1 })],
  ['Triple DES', 'algorithm of the encryption', encrypted({ content: methods.tripleDes })],
  ['AES-128-CBC', 'algorithm of the encryption', encrypted({ content: methods.cbc128 })],
  ['AES-256-CBC', 'algorithm of the encryption', encrypted({ content: methods.cbc256 })],
  ['a mask of another hash', 'algorithm of the encryption', encrypted({ hash: 'sha256', wrap: methods.oaep })],
  [
    'parameters of RSA-OAEP',
    'algorithm of the encryption',
    changed('<ds:DigestMethod', '<xenc:OAEPparams>AAAA</xenc:OAEPparams><ds:DigestMethod'),
  ],
  ['nothing in it', 'form of the encryption', (_, xml) => takenApart(xml).around('<saml:EncryptedAssertion/>')],
  ['two keys', 'form of the encryption', changed(/<xenc:EncryptedKey[\s\S]*<\/xenc:EncryptedKey>/, (one) => one + one)],
  [
    'a reference to bytes elsewhere',
    'form of the encryption',
    changed(
      /<xenc:CipherValue>[^<]+<\/xenc:CipherValue><\/xenc:CipherData><\/xenc:EncryptedData>/,
      '<xenc:CipherReference URI="http://127.0.0.1/"/></xenc:CipherData></xenc:EncryptedData>',
    ),
  ],
  ['no signature inside', 'number or place of signatures', (plain) => encryptedDocument(plain, { certificate })],
  [
    'only the response is signed',
    'number or place of signatures',
    (plain) => signed(encryptedDocument(plain, { certificate }), { what: 'Response' }),
  ],
  [
    'the signature of a stranger inside',
    'signature',
    (plain) => encryptedDocument(signed(plain, { identity: stranger }), { certificate }),
  ],
  [
    'a changed assertion inside',
    'signature',
    (_, xml) => encryptedDocument(xml.replace('>somebody<', '>admin<'), { certificate }),
  ],
  [
    'a response whose own signature does not hold',
    'signature',
    (_, xml) => signed(encryptedDocument(xml, { certificate }), { what: 'Response', identity: stranger }),
  ],
  [
    'a signed response with another encrypted assertion',
    'signature',
    (plain, xml) => {
      const whole = signed(encryptedDocument(xml, { certificate }), { what: 'Response' });
      return whole.replace(/<saml:EncryptedAssertion[\s\S]*<\/saml:EncryptedAssertion>/, () =>
        encryptedAssertion(standalone(takenApart(signed(plain)).assertion), { certificate }),
      );
    },
  ],
  [
    'a plain one in front',
    'number or place of assertions',
    (_, xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(evil(bare) + encryptedAssertion(standalone(assertion), { certificate }));
    },
  ],
  [
    'the plain, signed one behind',
    'number or place of assertions',
    (_, xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(encryptedAssertion(evil(bare), { certificate }) + assertion);
    },
  ],
  [
    'two encrypted ones',
    'number or place of assertions',
    (_, xml) => {
      const { assertion, around } = takenApart(xml);
      const one = encryptedAssertion(standalone(assertion), { certificate });
      return around(one + one);
    },
  ],
  [
    'below an element of the response',
    'number or place of assertions',
    (_, xml) => {
      const { assertion, around } = takenApart(xml);
      return around(
        `<samlp:Extensions>${encryptedAssertion(standalone(assertion), { certificate })}</samlp:Extensions>`,
      );
    },
  ],
  [
    'wrapping: another assertion around the signed one',
    'number or place of assertions',
    (_, xml) => {
      const { assertion, bare, around } = takenApart(xml);
      const outer = evil(bare).replace('</saml:Assertion>', () => `${assertion}</saml:Assertion>`);
      return around(encryptedAssertion(outer, { certificate }));
    },
  ],
  [
    'wrapping: another assertion with the signature of the signed one, which it holds',
    'number or place of assertions',
    (_, xml) => {
      const { bare, signature, around } = takenApart(xml);
      const holding = signature.replace('</ds:Signature>', () => `<ds:Object>${bare}</ds:Object></ds:Signature>`);
      return around(
        encryptedAssertion(
          evil(bare).replace('</saml:Issuer>', () => `</saml:Issuer>${holding}`),
          { certificate },
        ),
      );
    },
  ],
  [
    'wrapping: a response inside',
    'repeated id',
    (_, xml) => takenApart(xml).around(encryptedAssertion(xml, { certificate })),
  ],
  [
    'another encrypted one inside',
    'number or place of assertions',
    (_, xml) => {
      const { assertion, around } = takenApart(xml);
      return around(encryptedAssertion(encryptedAssertion(standalone(assertion), { certificate }), { certificate }));
    },
  ],
  [
    'the id of the response inside',
    'repeated id',
    (plain) => {
      const id = / ID="([^"]*)"/.exec(plain)?.[1] ?? '';
      return encryptedDocument(signed(plain.replace(/(<saml:Assertion )ID="[^"]*"/, `$1ID="${id}"`)), { certificate });
    },
  ],
  [
    'a document type inside',
    'doctype, comment or cdata',
    (_, xml) => {
      const { assertion, around } = takenApart(xml);
      return around(encryptedAssertion(`<!DOCTYPE x>${standalone(assertion)}`, { certificate }));
    },
  ],
  [
    'no XML inside',
    'malformed xml',
    (_, xml) => takenApart(xml).around(encryptedAssertion('somebody', { certificate })),
  ],
  [
    'a NameID that is encrypted besides',
    'encrypted id',
    (plain) => {
      const inner = encryptedAssertion('<x/>', { certificate }).replace(/<\/?saml:EncryptedAssertion[^>]*>/g, '');
      const hidden = plain.replace(
        /<saml:NameID[\s\S]*<\/saml:NameID>/,
        () => `<saml:EncryptedID>${inner}</saml:EncryptedID>`,
      );
      return encryptedDocument(signed(hidden), { certificate });
    },
  ],
  [
    'an audience that is another’s',
    'audience',
    (plain) =>
      encryptedDocument(signed(plain.replace(/<saml:Audience>[^<]*/, '<saml:Audience>https://x.example')), {
        certificate,
      }),
  ],
];

const answers = new Set<string>();
for (const [name, reason, make] of refused)
  test(`refused: ${name}`, async () => {
    const before = await counted();
    const { browser, end } = await answerOf(make);
    const { error, page } = endOf(end);
    assert.deepEqual([page, error?.code, error?.type], [`${app}/failed`, 401, 'user_saml_response_invalid']);
    assert.equal(await reasonOf(end), reason);
    assert.equal(browser.cookie('svc_main'), undefined);
    assert.deepEqual(await counted(), before);
    answers.add(JSON.stringify([end.status, error]));
  });

test('all refusals are alike, so none reveals its cause', () => {
  assert.equal(answers.size, 1);
});

test('a provider that has never been told a key cannot have encrypted for it', async () => {
  await addForged(target, 'untold', { certificates: [own.cert] });
  const { end } = await answerOf((_, xml) => encryptedDocument(xml, { certificate }), 'untold');
  assert.equal(endOf(end).error?.type, 'user_saml_response_invalid');
  assert.equal(await reasonOf(end), 'decryption');
  assert.ok((await rowsOf(target, 'saml_keys')).every(({ provider }) => provider !== 'untold'));
});
