// What identity providers do in the world: no issuer or destination around the assertion, attributes in capital letters, sessions that end, requests by HTTP-POST only, domains that are not ASCII.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignedXml } from 'xml-crypto';
import { createClient } from '../harness/client.js';
import { createBrowser, endOf } from '../oauth2/browser.js';
import { startOpen } from '../oauth2/setup.js';
import { publishedOf } from './encrypt.js';
import { documentOf, encoded, partsOf, signed } from './forge.js';
import { startSamlProvider } from './identity-providers.js';
import { acsOf, addForged, app, logIn, saidOf, startOf } from './setup.js';

const target = await startOpen();
await addForged(target, 'corp', { emailDomains: ['m\u00fcnchen.example'] });
await addForged(target, 'posts', { ssoBinding: 'post', signRequests: true });

const sessionOf = async (session: string) =>
  (await createClient(target, { session }).get('/account/sessions/current')).expect(200).body;

test('a response without an issuer counts by that of its assertion', async () => {
  const change = (parts: ReturnType<typeof partsOf>) => {
    parts.head = parts.head.replace(/<saml:Issuer>.*<\/saml:Issuer>/, '');
  };
  assert.equal(endOf((await logIn(target, 'corp', {}, { change })).end).page, `${app}/done`);
});

test('a response that is not signed may leave its destination to the assertion', async () => {
  const change = (parts: ReturnType<typeof partsOf>) => {
    parts.response = parts.response.replace(/ Destination="[^"]*"/, '');
  };
  assert.equal(endOf((await logIn(target, 'corp', {}, { change })).end).page, `${app}/done`);
});

test('capital and small letters of the names of attributes do not matter', async () => {
  const attributes = { Email: ['kim@m\u00fcnchen.example'], FirstName: ['Kim'], LASTNAME: ['Lee'] };
  const { session } = await logIn(target, 'corp', { nameId: 'kim', attributes });
  const account = (await createClient(target, { session }).get('/account')).expect(200).body;
  assert.deepEqual([account.email, account.name], ['kim@xn--mnchen-3ya.example', 'Kim Lee']);
});

test('a session ends when the provider says so, and cannot be extended beyond', async () => {
  const [early, late] = [3600, 7200].map((seconds) => new Date(target.clock.now() + seconds * 1000).toISOString());
  const change = (parts: ReturnType<typeof partsOf>) => {
    const statement = (end = '') => parts.statements.replace('<saml:AuthnStatement', `$& SessionNotOnOrAfter="${end}"`);
    parts.statements = statement(late) + statement(early);
  };
  const { session } = await logIn(target, 'corp', { nameId: 'bounded' }, { change });
  const expire = early?.replace('Z', '+00:00');
  assert.equal((await sessionOf(session)).expire, expire);
  const extended = await createClient(target, { session }).patch('/account/sessions/current');
  assert.equal(extended.expect(200).body.expire, expire);
});

test('an address in a domain that is not ASCII is the same in each spelling, and verified in the listed domain', async () => {
  const spellings = ['Ann@M\u00dcNCHEN.example', 'ann@xn--mnchen-3ya.example'];
  for (const email of spellings) {
    const { session } = await logIn(target, 'corp', { nameId: 'ann', attributes: { email: [email] } });
    const account = (await createClient(target, { session }).get('/account')).expect(200).body;
    assert.deepEqual([account.email, account.emailVerification], ['ann@xn--mnchen-3ya.example', true]);
  }
});

test('a provider that accepts requests by HTTP-POST only gets a form, signed if it asks for that', async () => {
  const { status, text, headers } = await createBrowser(target).step(startOf('posts'));
  assert.equal(status, 200);
  assert.match(headers.get('content-security-policy') ?? '', /form-action 'self' https:\/\/posts\.example https:/);
  assert.match(text, /<form method="post" action="https:\/\/posts\.example\/sso">/);
  const value = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(text)?.[1] ?? '';
  const request = Buffer.from(value('SAMLRequest'), 'base64').toString();
  assert.ok(request.includes(`AssertionConsumerServiceURL="${acsOf('posts')}"`), request);
  const signature = /<ds:Signature[\s\S]*<\/ds:Signature>/.exec(request)?.[0] ?? '';
  const checked = new SignedXml({ publicCert: (await publishedOf(target, 'posts')).signing as never });
  checked.loadSignature(signature);
  assert.ok(checked.checkSignature(request));
  assert.match(value('RelayState'), /^[\w-]{43}$/);
});

test('the address for responses finds the project by its header alone', async () => {
  const client = createClient(target, { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
  const said = saidOf(target, 'corp', undefined);
  const SAMLResponse = encoded(signed(documentOf(partsOf(said))));
  const body = new URLSearchParams({ SAMLResponse, RelayState: 'unknown' }).toString();
  // The project is found: what is refused is the login, which nobody has begun.
  (await client.post('/account/sessions/saml/corp/acs', body)).refused(401, 'user_invalid_token');
});

test('of several providers in one metadata the entity id chooses one, and its binding', async () => {
  const [first, second] = [await startSamlProvider('samlp', acsOf('a')), await startSamlProvider('samlp', acsOf('b'))];
  const bare = ({ metadata }: { metadata: string }) => metadata.replace(/<\?xml[^>]*>/, '');
  const onlyPost = bare(second).replaceAll('HTTP-Redirect', 'HTTP-POST');
  const metadata = `<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata">${bare(first)}${onlyPost}</EntitiesDescriptor>`;
  const prepare = (given: object) => target.appliance.features.providers.prepare('saml', { metadata, ...given });
  const chosen = await prepare({ entityId: second.entityId });
  assert.deepEqual([chosen.entityId, chosen.ssoBinding], [second.entityId, 'post']);
  assert.equal((await prepare({ entityId: first.entityId })).ssoBinding, 'redirect');
  await assert.rejects(prepare({}), /--idp-entity-id/);
  await assert.rejects(prepare({ entityId: 'urn:other' }), /names no identity provider with this entity id/);
});
