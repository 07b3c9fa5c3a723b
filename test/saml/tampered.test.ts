// Responses that were tampered with, and those that were not meant for this login: each is refused for its reason, and nothing comes of it.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { rowsOf } from '../harness/database.js';
import { assertFailed, createBrowser, endOf, type Step } from '../oauth2/browser.js';
import { startOpen } from '../oauth2/setup.js';
import {
  curve,
  documentOf,
  encoded,
  freshId,
  type Parts,
  partsOf,
  type Said,
  type Signing,
  signed,
  stranger,
  takenApart,
} from './forge.js';
import { acsOf, addForged, app, begin, entityIdOf, logIn, post, saidOf } from './setup.js';

const target = await startOpen();
before(async () => {
  await addForged(target, 'corp');
  await addForged(target, 'other');
});

/** A response that does not hold: what it is made of, and the reason for which it is refused. */
interface Case {
  readonly name: string;
  readonly reason: string;
  readonly said?: (said: Said) => Partial<Said>;
  readonly parts?: (parts: Parts) => void;
  readonly signing?: Signing | 'none';
  /** What becomes of the signed document. */
  readonly xml?: (xml: string, said: Said) => string | Buffer;
  /** What is posted instead. */
  readonly posted?: (encoded: string) => string;
}

const more = 'http://www.w3.org/2001/04/xmldsig-more#';
const xmldsig = 'http://www.w3.org/2000/09/xmldsig#';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const enveloped = `${xmldsig}enveloped-signature`;
const at = (seconds: number) => new Date(target.clock.now() + seconds * 1000).toISOString();
const replaced = (from: string | RegExp, to: string) => (xml: string) => {
  const changed = xml.replace(from, () => to);
  assert.notEqual(changed, xml);
  return changed;
};
const part = (name: keyof Parts, from: string | RegExp, to: string) => (parts: Parts) => {
  parts[name] = replaced(from, to)(parts[name]);
};
/** The assertion of somebody else, under an id of its own or the same. */
const evil = (bare: string, id = freshId()) => bare.replace(/ID="[^"]*"/, `ID="${id}"`).replace('somebody', 'admin');
/** The same with the response around it. */
const evilResponse = (xml: string) => {
  const { bare, around } = takenApart(xml);
  return around(evil(bare)).replace(/ID="[^"]*"/, `ID="${freshId()}"`);
};
const idOf = (xml: string) => /ID="([^"]*)"/.exec(xml)?.[1] ?? '';

const wrapped: readonly Case[] = [
  {
    name: 'XSW 1: the signed response within the signature of another one',
    reason: 'number or place of assertions',
    signing: { what: 'Response' },
    xml: (xml) => {
      const signature = /<ds:Signature[\s\S]*?<\/ds:Signature>/.exec(xml)?.[0] ?? '';
      const original = xml.replace(signature, '');
      const outer = evilResponse(original);
      const inner = signature.replace('</ds:Signature>', () => `${original}</ds:Signature>`);
      return outer.replace('</saml:Issuer>', () => `</saml:Issuer>${inner}`);
    },
  },
  {
    name: 'XSW 2: the signed response beside its signature in another one',
    reason: 'number or place of assertions',
    signing: { what: 'Response' },
    xml: (xml) => {
      const signature = /<ds:Signature[\s\S]*?<\/ds:Signature>/.exec(xml)?.[0] ?? '';
      const original = xml.replace(signature, '');
      const outer = evilResponse(original);
      return outer.replace('</saml:Issuer>', () => `</saml:Issuer>${original}${signature}`);
    },
  },
  {
    name: 'XSW 3: another assertion before the signed one',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(evil(bare) + assertion);
    },
  },
  {
    name: 'XSW 4: the signed assertion within another one',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(evil(bare).replace('</saml:Assertion>', () => `${assertion}</saml:Assertion>`));
    },
  },
  {
    name: 'XSW 5: another assertion with the signature, the signed one behind it',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { bare, signature, around } = takenApart(xml);
      return around(evil(bare).replace('</saml:Issuer>', () => `</saml:Issuer>${signature}`) + bare);
    },
  },
  {
    name: 'XSW 6: another assertion with the signature, the signed one within that',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { bare, signature, around } = takenApart(xml);
      const holding = signature.replace('</ds:Signature>', () => `${bare}</ds:Signature>`);
      return around(evil(bare).replace('</saml:Issuer>', () => `</saml:Issuer>${holding}`));
    },
  },
  {
    name: 'XSW 7: another assertion of the same id in the extensions',
    reason: 'repeated id',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(`<samlp:Extensions>${evil(bare, idOf(bare))}</samlp:Extensions>${assertion}`);
    },
  },
  {
    name: 'XSW 7 with an id of its own',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(`<samlp:Extensions>${evil(bare)}</samlp:Extensions>${assertion}`);
    },
  },
  {
    name: 'XSW 8: another assertion whose signature holds the signed one in an object',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { bare, signature, around } = takenApart(xml);
      const holding = signature.replace('</ds:Signature>', () => `<ds:Object>${bare}</ds:Object></ds:Signature>`);
      return around(evil(bare).replace('</saml:Issuer>', () => `</saml:Issuer>${holding}`));
    },
  },
  {
    name: 'another assertion under the id of the signed one',
    reason: 'repeated id',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(evil(bare, idOf(bare)) + assertion);
    },
  },
  {
    name: 'another assertion in a namespace of its own',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      const foreign = evil(bare)
        .replaceAll('saml:Assertion', 'x:Assertion')
        .replace('<x:Assertion', '<x:Assertion xmlns:x="urn:x"');
      return around(foreign + assertion);
    },
  },
  {
    name: 'the signed assertion below an element of the response',
    reason: 'number or place of assertions',
    xml: (xml) => {
      const { assertion, around } = takenApart(xml);
      return around(`<samlp:Extensions>${assertion}</samlp:Extensions>`);
    },
  },
  {
    name: 'the id in another spelling on the other assertion',
    reason: 'repeated id',
    xml: (xml) => {
      const { assertion, bare, around } = takenApart(xml);
      return around(`<samlp:Extensions Id="${idOf(bare)}"/>${assertion}`);
    },
  },
  {
    name: 'no response at all but a signed assertion',
    reason: 'no response',
    xml: (xml) =>
      takenApart(xml).assertion.replace(
        '<saml:Assertion',
        '<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"',
      ),
  },
  {
    name: 'a response in another namespace',
    reason: 'no response',
    xml: replaced(
      'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"',
      'xmlns:samlp="urn:oasis:names:tc:SAML:1.0:protocol"',
    ),
  },
];

const signatures: readonly Case[] = [
  { name: 'no signature', reason: 'number or place of signatures', signing: 'none' },
  { name: 'a signature of the response only', reason: 'number or place of signatures', signing: { what: 'Response' } },
  {
    name: 'the key of a stranger, whose certificate it brings along',
    reason: 'signature',
    signing: { identity: stranger },
  },
  {
    name: 'the key of a stranger without a certificate',
    reason: 'signature',
    signing: { identity: stranger, keyInfo: false },
  },
  {
    name: 'the key of a stranger on an elliptic curve',
    reason: 'signature',
    signing: { identity: curve, algorithm: `${more}ecdsa-sha256` },
  },
  { name: 'RSA with SHA-1', reason: 'algorithm of the signature', signing: { algorithm: `${xmldsig}rsa-sha1` } },
  { name: 'a digest of SHA-1', reason: 'algorithm of the signature', signing: { digest: `${xmldsig}sha1` } },
  {
    name: 'HMAC with the certificate as the key',
    reason: 'algorithm of the signature',
    signing: { algorithm: `${more}hmac-sha256` },
  },
  {
    name: 'a signature method that nobody knows',
    reason: 'algorithm of the signature',
    xml: replaced(`${more}rsa-sha256`, 'urn:none'),
  },
  {
    name: 'inclusive canonicalization of the assertion',
    reason: 'transforms of the signature',
    signing: { transforms: [enveloped, 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'] },
  },
  {
    name: 'inclusive canonicalization of the signature',
    reason: 'algorithm of the signature',
    signing: { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
  },
  {
    name: 'canonicalization with comments',
    reason: 'transforms of the signature',
    signing: { transforms: [enveloped, `${exclusive}WithComments`] },
  },
  {
    name: 'without the enveloped signature',
    reason: 'transforms of the signature',
    signing: { transforms: [exclusive] },
  },
  {
    name: 'a transform more',
    reason: 'transforms of the signature',
    signing: { transforms: [enveloped, exclusive, exclusive] },
  },
  {
    name: 'XPath as a transform',
    reason: 'transforms of the signature',
    xml: replaced(
      `<ds:Transform Algorithm="${exclusive}"/>`,
      `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>true()</ds:XPath></ds:Transform>`,
    ),
  },
  { name: 'a reference to nothing', reason: 'reference of the signature', xml: replaced(/URI="#[^"]*"/, 'URI=""') },
  {
    name: 'a reference to the response',
    reason: 'reference of the signature',
    xml: (xml) => xml.replace(/URI="#[^"]*"/, `URI="#${idOf(xml)}"`),
  },
  {
    name: 'a second reference',
    reason: 'form of the signature',
    xml: (xml) => xml.replace(/<ds:Reference[\s\S]*?<\/ds:Reference>/, (one) => one + one),
  },
  {
    name: 'an object in the signature',
    reason: 'form of the signature',
    xml: replaced('</ds:Signature>', '<ds:Object>x</ds:Object></ds:Signature>'),
  },
  {
    name: 'a second SignedInfo',
    reason: 'form of the signature',
    xml: (xml) => xml.replace(/<ds:SignedInfo>[\s\S]*?<\/ds:SignedInfo>/, (one) => one + one),
  },
  {
    name: 'a second signature',
    reason: 'number or place of signatures',
    xml: (xml) => xml.replace(/<ds:Signature [\s\S]*?<\/ds:Signature>/, (one) => one + one),
  },
  {
    name: 'a digest that does not fit',
    reason: 'signature',
    xml: replaced(/<ds:DigestValue>[^<]*/, `<ds:DigestValue>${Buffer.alloc(32).toString('base64')}`),
  },
  { name: 'no signature value', reason: 'signature', xml: replaced(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>') },
  { name: 'a changed NameID', reason: 'signature', xml: replaced('>somebody<', '>admin<') },
  {
    name: 'a changed audience',
    reason: 'signature',
    xml: replaced(/<saml:Audience>[^<]*/, '<saml:Audience>https://x.example'),
  },
  {
    name: 'an added attribute',
    reason: 'signature',
    xml: replaced(
      '</saml:AuthnStatement>',
      '</saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name="email"><saml:AttributeValue>a@b.example</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
    ),
  },
  { name: 'a removed condition', reason: 'signature', xml: replaced(/<saml:Conditions[\s\S]*<\/saml:Conditions>/, '') },
  {
    name: 'a response whose own signature does not hold',
    reason: 'signature',
    xml: (xml) => signed(xml, { what: 'Response', identity: stranger }),
  },
  {
    name: 'a signed response that was changed',
    reason: 'signature',
    xml: (xml, { acs }) =>
      signed(xml.replace(/ Destination="[^"]*"/, ' Destination="https://x.example"'), { what: 'Response' }).replace(
        / Destination="[^"]*"/,
        ` Destination="${acs}"`,
      ),
  },
];

const documents: readonly Case[] = [
  { name: 'a document type', reason: 'doctype, comment or cdata', xml: (xml) => `<!DOCTYPE x>${xml}` },
  {
    name: 'an entity that is declared',
    reason: 'entity',
    xml: (xml) => `<!DOCTYPE x [<!ENTITY a "admin">]>${xml.replace('somebody', '&a;')}`,
  },
  {
    name: 'entities that multiply',
    reason: 'doctype, comment or cdata',
    xml: (xml) => `<!DOCTYPE x [<!ENTITY a "0123456789"><!ENTITY b "&#38;a;&#38;a;">]>${xml}`,
  },
  {
    name: 'a comment within the NameID',
    reason: 'doctype, comment or cdata',
    xml: replaced('>somebody<', '>some<!-- -->body<'),
  },
  { name: 'a comment in front', reason: 'doctype, comment or cdata', xml: (xml) => `<!-- x -->${xml}` },
  {
    name: 'CDATA within the NameID',
    reason: 'doctype, comment or cdata',
    xml: replaced('>somebody<', '><![CDATA[somebody]]><'),
  },
  {
    name: 'a processing instruction',
    reason: 'malformed xml',
    xml: (xml) => `<?xml-stylesheet href="https://x.example"?>${xml}`,
  },
  { name: 'a second root', reason: 'malformed xml', xml: (xml) => `${xml}<x/>` },
  { name: 'text behind the end', reason: 'malformed xml', xml: (xml) => `${xml}x` },
  {
    name: 'an attribute twice',
    reason: 'malformed xml',
    xml: replaced('<samlp:StatusCode ', '<samlp:StatusCode Value="x" '),
  },
  { name: 'tags that do not match', reason: 'malformed xml', xml: replaced('</saml:Subject>', '</saml:subject>') },
  { name: 'a NUL', reason: 'malformed xml', xml: replaced('>somebody<', '>some\0body<') },
  { name: 'a NUL as a reference', reason: 'malformed xml', xml: replaced('>somebody<', '>some&#0;body<') },
  { name: 'half a document', reason: 'malformed xml', xml: (xml) => xml.slice(0, xml.length / 2) },
  {
    name: 'another encoding',
    reason: 'not utf-8',
    xml: (xml) => Buffer.from(xml.replace('somebody', 'söme'), 'latin1'),
  },
  {
    name: 'UTF-16',
    reason: 'not utf-8',
    xml: (xml) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(xml, 'utf16le')]),
  },
  {
    name: 'an encoding that is declared but not used',
    reason: 'malformed xml',
    xml: (xml) => `<?xml version="1.0" encoding="UTF-7"?>${xml}`,
  },
  {
    name: 'nesting of 65 levels',
    reason: 'too large or too deep',
    xml: replaced('<samlp:Status>', `${'<x>'.repeat(70)}${'</x>'.repeat(70)}<samlp:Status>`),
  },
  {
    name: 'more than 256 KiB',
    reason: 'too large or too deep',
    xml: replaced('<samlp:Status>', `<x>${'y'.repeat(262_144)}</x><samlp:Status>`),
  },
  {
    name: 'thousands of elements',
    reason: 'too large or too deep',
    xml: replaced('<samlp:Status>', `${'<x/>'.repeat(2001)}<samlp:Status>`),
  },
  {
    name: 'base64 of another alphabet',
    reason: 'not base64',
    posted: (text) => `${text.slice(0, 8)}_-${text.slice(8)}`,
  },
  {
    name: 'base64 with other characters',
    reason: 'not base64',
    posted: (text) => `${text.slice(0, 8)} ${text.slice(8)}`,
  },
  { name: 'no base64', reason: 'not base64', posted: () => '<samlp:Response/>' },
  {
    name: 'an encrypted assertion without anything in it',
    reason: 'form of the encryption',
    xml: (xml) => takenApart(xml).around('<saml:EncryptedAssertion/>'),
  },
  { name: 'no assertion', reason: 'number or place of assertions', xml: (xml) => takenApart(xml).around('') },
];

const said: readonly Case[] = [
  { name: 'the issuer of another provider', reason: 'issuer', said: () => ({ issuer: 'https://other.example' }) },
  {
    name: 'another issuer in the response only',
    reason: 'issuer',
    parts: part('head', 'https://corp.example', 'https://x.example'),
  },
  {
    name: 'another issuer in the assertion only',
    reason: 'issuer',
    parts: part('issuer', 'https://corp.example', 'https://x.example'),
  },
  {
    name: 'no issuer in a signed response',
    reason: 'issuer',
    parts: part('head', /<saml:Issuer>.*<\/saml:Issuer>/, ''),
    xml: (xml) =>
      signed(xml, { what: 'Response', location: { reference: "//*[local-name(.)='Status']", action: 'before' } }),
  },
  {
    name: 'two issuers in the response',
    reason: 'issuer',
    parts: (parts) => {
      parts.head = `<saml:Issuer>https://evil.example</saml:Issuer>${parts.head}`;
    },
    signing: { location: { reference: "//*[local-name(.)='Assertion']/*[local-name(.)='Issuer']", action: 'after' } },
  },
  {
    name: 'no issuer in the assertion',
    reason: 'issuer',
    parts: (parts) => {
      parts.issuer = '<saml:Advice/>';
    },
    signing: { location: { reference: "//*[local-name(.)='Advice']", action: 'after' } },
  },
  { name: 'the audience of another provider', reason: 'audience', said: () => ({ audience: entityIdOf('other') }) },
  {
    name: 'the audience of another project',
    reason: 'audience',
    said: () => ({ audience: entityIdOf('corp', 'neighbour') }),
  },
  {
    name: 'a second audience restriction',
    reason: 'audience',
    parts: part(
      'conditions',
      '</saml:Conditions>',
      '<saml:AudienceRestriction><saml:Audience>https://x.example</saml:Audience></saml:AudienceRestriction></saml:Conditions>',
    ),
  },
  {
    name: 'no audience restriction',
    reason: 'audience',
    parts: part('conditions', /<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, ''),
  },
  {
    name: 'no conditions',
    reason: 'conditions',
    parts: (parts) => {
      parts.conditions = '';
    },
  },
  {
    name: 'a condition that nobody knows',
    reason: 'conditions',
    parts: part(
      'conditions',
      '</saml:Conditions>',
      '<saml:Condition xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="x"/></saml:Conditions>',
    ),
  },
  {
    name: 'another destination',
    reason: 'destination',
    parts: part('response', / Destination="[^"]*"/, ` Destination="${acsOf('other')}"`),
  },
  {
    name: 'a signed response without a destination',
    reason: 'destination',
    parts: part('response', / Destination="[^"]*"/, ''),
    xml: (xml) => signed(xml, { what: 'Response' }),
  },
  {
    name: 'an empty destination',
    reason: 'destination',
    parts: part('response', / Destination="[^"]*"/, ' Destination=""'),
  },
  {
    name: 'another recipient',
    reason: 'recipient',
    parts: part('subject', / Recipient="[^"]*"/, ` Recipient="${acsOf('other')}"`),
  },
  { name: 'no recipient', reason: 'recipient', parts: part('subject', / Recipient="[^"]*"/, '') },
  {
    name: 'no confirmation',
    reason: 'subject confirmation',
    parts: part('subject', /<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, ''),
  },
  {
    name: 'a confirmation that is no bearer',
    reason: 'subject confirmation',
    parts: part('subject', 'cm:bearer', 'cm:sender-vouches'),
  },
  {
    name: 'a confirmation without an end',
    reason: 'confirmation expired',
    parts: part('subject', / NotOnOrAfter="[^"]*"/, ''),
  },
  {
    name: 'a confirmation that is over',
    reason: 'confirmation expired',
    parts: (parts) => part('subject', / NotOnOrAfter="[^"]*"/, ` NotOnOrAfter="${at(-61)}"`)(parts),
  },
  {
    name: 'a confirmation that is yet to come',
    reason: 'not yet valid',
    parts: (parts) => part('subject', ' NotOnOrAfter', ` NotBefore="${at(70)}" NotOnOrAfter`)(parts),
  },
  {
    name: 'conditions that are over',
    reason: 'conditions expired',
    parts: (parts) => part('conditions', / NotOnOrAfter="[^"]*"/, ` NotOnOrAfter="${at(-61)}"`)(parts),
  },
  {
    name: 'conditions that are yet to come',
    reason: 'not yet valid',
    parts: (parts) => part('conditions', / NotBefore="[^"]*"/, ` NotBefore="${at(70)}"`)(parts),
  },
  {
    name: 'conditions without an end',
    reason: 'conditions expired',
    parts: part('conditions', / NotOnOrAfter="[^"]*"/, ''),
  },
  {
    name: 'a time that is none',
    reason: 'conditions expired',
    parts: part('conditions', / NotOnOrAfter="[^"]*"/, ' NotOnOrAfter="2999"'),
  },
  {
    name: 'a session at the provider that is over',
    reason: 'conditions expired',
    parts: (parts) =>
      part('statements', '<saml:AuthnStatement', `<saml:AuthnStatement SessionNotOnOrAfter="${at(-90)}"`)(parts),
  },
  { name: 'the answer to no request', reason: 'in response to', said: () => ({ requestId: undefined }) },
  { name: 'the answer to another request', reason: 'in response to', said: () => ({ requestId: '_another' }) },
  {
    name: 'a confirmation of another request',
    reason: 'in response to',
    parts: part('subject', / InResponseTo="[^"]*"/, ' InResponseTo="_another"'),
  },
  {
    name: 'a confirmation of no request',
    reason: 'in response to',
    parts: part('subject', / InResponseTo="[^"]*"/, ''),
  },
  { name: 'SAML 1.1', reason: 'version', parts: part('assertion', 'Version="2.0"', 'Version="1.1"') },
  {
    name: 'no statement of a login',
    reason: 'form of the assertion',
    parts: (parts) => {
      parts.statements = '';
    },
  },
  {
    name: 'no subject',
    reason: 'form of the assertion',
    parts: (parts) => {
      parts.subject = '';
    },
  },
  {
    name: 'a subject without a name',
    reason: 'user_missing_id',
    parts: part('subject', /<saml:NameID.*<\/saml:NameID>/, ''),
  },
  { name: 'a name that is empty', reason: 'user_missing_id', said: () => ({ nameId: ' ' }) },
  {
    name: 'a name with elements in it',
    reason: 'user_missing_id',
    parts: part('subject', '>somebody<', '><x>somebody</x><'),
  },
  {
    name: 'a name that differs with every login',
    reason: 'user_missing_id',
    said: () => ({ format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }),
  },
  {
    name: 'a login that the provider has refused',
    reason: 'status',
    parts: part('head', 'status:Success', 'status:Responder'),
  },
];

const counted = async () =>
  Promise.all(
    ['users', 'identities', 'sessions', 'used_answers'].map(async (name) => (await rowsOf(target, name)).length),
  );
/** The reason that the audit log has for the answer. */
const reasonOf = async ({ headers }: Step): Promise<unknown> => {
  const rows = await rowsOf(target, 'audit_entries');
  const row = rows.find(({ request_id: id, action }) => id === headers.get('x-request-id') && action === 'loginFailed');
  return JSON.parse(String(row?.data ?? '{}')).reason;
};
const types: Readonly<Record<string, [number, string]>> = {
  user_missing_id: [400, 'user_missing_id'],
  status: [401, 'user_saml_unauthorized'],
};

test('the response that the others differ from opens a session', async () => {
  const { end, session } = await logIn(target, 'corp');
  assert.equal(endOf(end).page, `${app}/done`);
  assert.notEqual(session, '');
});

for (const one of [...wrapped, ...signatures, ...documents, ...said])
  test(`refused: ${one.name}`, async () => {
    const [before, browser] = [await counted(), createBrowser(target)];
    const { relayState, requestId } = await begin(browser, 'corp');
    const fitting = saidOf(target, 'corp', requestId);
    const parts = partsOf({ ...fitting, ...one.said?.(fitting) });
    one.parts?.(parts);
    const plain = documentOf(parts);
    const whole = one.signing === 'none' ? plain : signed(plain, one.signing);
    const sent = encoded(one.xml?.(whole, fitting) ?? whole);
    const end = await post(browser, 'corp', { SAMLResponse: one.posted?.(sent) ?? sent, RelayState: relayState });
    const [status, type] = types[one.reason] ?? [401, 'user_saml_response_invalid'];
    assertFailed(end, status, type);
    assert.equal(await reasonOf(end), one.reason);
    assert.equal(browser.cookie('svc_main'), undefined);
    const after = await counted();
    // An assertion that names nobody has been used up all the same.
    assert.deepEqual(after.slice(0, 3), before.slice(0, 3));
    if (one.reason !== 'user_missing_id') assert.deepEqual(after, before);
  });
