// Logins at two real identity providers: what the browser is sent with, what comes of it, and what the service tells of itself.
import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { before, test } from 'node:test';
import { usedAnswers } from '#src/features/identity/external-logins/store.js';
import { aLoggedInUser } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { type Browser, createBrowser, endOf } from '../oauth2/browser.js';
import { addProvider, startOpen } from '../oauth2/setup.js';
import { publishedOf } from './encrypt.js';
import { curve, documentOf, encoded, partsOf, signed, stranger } from './forge.js';
import { aSomebody, formOf, libraries, type SamlProvider, startSamlProvider } from './identity-providers.js';
import { acsOf, addForged, app, begin, entityIdOf, logIn, post, saidOf, startOf } from './setup.js';

const target = await startOpen();
const accountOf = async (session: string) => (await createClient(target, { session }).get('/account')).expect(200).body;
const names = Object.keys(libraries) as (keyof typeof libraries)[];
const providers = new Map<string, SamlProvider>();
for (const name of names) providers.set(name, await startSamlProvider(name, acsOf(name)));
before(async () => {
  const { features } = target.appliance;
  for (const [name, { metadataUrl }] of providers) {
    const config = await features.providers.prepare('saml', {
      metadataUrl,
      emailDomains: ['corp.example'],
    });
    await addProvider(target, { key: name, kind: 'saml', config });
  }
  await addForged(target, 'forged', { emailDomains: ['corp.example'] });
});

/** Logs somebody in as a browser does, through the page of the provider. */
async function visit(name: string, user = aSomebody(), browser: Browser = createBrowser(target), url = startOf(name)) {
  const idp = providers.get(name) as SamlProvider;
  idp.user = user;
  const { location } = await begin(browser, name, url);
  const { status, text } = await browser.step(location.href);
  assert.equal(status, 200, text);
  const { action, fields } = formOf(text);
  assert.equal(action, acsOf(name));
  const end = await post(browser, name, fields);
  return { user, browser, end, fields, session: browser.cookie('svc_main') ?? '' };
}

for (const name of names) {
  test(`${name}: a user logs in and comes back to the same account`, async () => {
    const { user, end, session, browser } = await visit(name);
    assert.deepEqual([endOf(end).page, [...endOf(end).query]], [`${app}/done`, []]);
    const account = await accountOf(session);
    assert.deepEqual([account.email, account.emailVerification, account.name], [user.email, true, user.name]);
    const current = (await createClient(target, { session }).get('/account/sessions/current')).expect(200).body;
    assert.deepEqual([current.provider, current.providerUid, current.factors], [name, user.id, ['email', 'saml']]);
    assert.equal(current.providerAccessToken, '');
    assert.deepEqual([...(browser.cookies.get('localhost:8080')?.keys() ?? [])], ['svc_main']);
    const again = await visit(name, { ...user, email: 'other@corp.example' });
    assert.equal((await accountOf(again.session)).$id, account.$id);
  });

  test(`${name}: a response counts once`, async () => {
    const { fields, browser } = await visit(name);
    for (const next of [browser, createBrowser(target)]) {
      const held = next.cookie('svc_main');
      const again = await post(next, name, fields);
      assert.deepEqual([again.status, JSON.parse(again.text).type], [401, 'user_invalid_token']);
      assert.equal(next.cookie('svc_main'), held);
    }
  });

  test(`${name}: without a page the answer is the session as JSON`, async () => {
    const { user, end } = await visit(name, aSomebody(), createBrowser(target), startOf(name, {}));
    assert.equal(end.status, 201);
    assert.equal((await accountOf(JSON.parse(end.text).secret)).email, user.email);
  });
}

test('the browser is sent with a request of its own, signed and for our address', async () => {
  const begun = await Promise.all([begin(createBrowser(target), 'forged'), begin(createBrowser(target), 'forged')]);
  for (const { location, request, relayState, requestId } of begun) {
    assert.equal(location.origin + location.pathname, 'https://forged.example/sso');
    assert.match(relayState, /^[\w-]{43}$/);
    assert.match(requestId, /^_[\w-]{43}$/);
    const at = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(request)?.[1];
    assert.equal(at('AssertionConsumerServiceURL'), acsOf('forged'));
    assert.equal(at('Destination'), 'https://forged.example/sso');
    assert.ok(Math.abs(Date.parse(at('IssueInstant') ?? '') - target.clock.now()) < 60_000);
    assert.ok(request.includes(`<saml:Issuer>${entityIdOf('forged')}</saml:Issuer>`));
  }
  assert.notEqual(begun[0]?.requestId, begun[1]?.requestId);
  assert.notEqual(begun[0]?.relayState, begun[1]?.relayState);
});

test('the metadata names our addresses, asks for signed assertions, and is public', async () => {
  const { status, headers, text } = await createBrowser(target).step(entityIdOf('forged'));
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/samlmetadata\+xml/);
  assert.ok(text.includes(`entityID="${entityIdOf('forged')}"`) && text.includes(`Location="${acsOf('forged')}"`));
  assert.match(text, /WantAssertionsSigned="true"/);
  const unknown = await createBrowser(target).step(entityIdOf('nobody'));
  assert.deepEqual([unknown.status, JSON.parse(unknown.text).type], [412, 'project_provider_disabled']);
  assert.equal((await createBrowser(target).step(entityIdOf('forged', 'nowhere'))).status, 404);
});

test('requests are signed if the metadata asks for it, and the provider accepts no others', async () => {
  const idp = await startSamlProvider('samlp', acsOf('strict'), true);
  const config = await target.appliance.features.providers.prepare('saml', { metadataUrl: idp.metadataUrl });
  await addProvider(target, { key: 'strict', kind: 'saml', config });
  const { text, signing } = await publishedOf(target, 'strict');
  assert.match(text, /AuthnRequestsSigned="true"/);
  idp.requestCert = signing;
  const browser = createBrowser(target);
  const { location } = await begin(browser, 'strict');
  assert.deepEqual([...location.searchParams.keys()], ['SAMLRequest', 'RelayState', 'SigAlg', 'Signature']);
  for (const name of ['SAMLRequest', 'RelayState', 'Signature']) {
    const changed = new URL(location);
    if (name === 'Signature') changed.searchParams.delete(name);
    else
      changed.searchParams.set(
        name,
        (await begin(createBrowser(target), 'strict')).location.searchParams.get(name) ?? '',
      );
    assert.equal((await browser.step(changed.href)).status, 500, name);
  }
  const { fields } = formOf((await browser.step(location.href)).text);
  assert.equal(endOf(await post(browser, 'strict', fields)).page, `${app}/done`);
});

test('a provider of one’s own setting gets signed requests, also at an address with a query; others get none', async () => {
  await addForged(target, 'own', { signRequests: true, ssoUrl: 'https://own.example/sso?tenant=a%20b' });
  const { location } = await begin(createBrowser(target), 'own');
  const [covered, signature] = location.search.slice('?tenant=a%20b&'.length).split('&Signature=');
  assert.match(covered ?? '', /^SAMLRequest=[^&]+&RelayState=[^&]+&SigAlg=[^&]+$/);
  const { signing } = await publishedOf(target, 'own');
  const bytes = Buffer.from(decodeURIComponent(signature ?? ''), 'base64');
  assert.ok(verify('sha256', Buffer.from(covered ?? ''), signing, bytes));
  const other = await begin(createBrowser(target), 'forged');
  assert.deepEqual([...other.location.searchParams.keys()], ['SAMLRequest', 'RelayState']);
  assert.match((await publishedOf(target, 'forged')).text, /AuthnRequestsSigned="false"/);
});

test('a session that begins the login from a page of the project gets the identity', async () => {
  const user = await aLoggedInUser(target);
  const browser = createBrowser(target);
  browser.cookies.set('localhost:8080', new Map([['svc_main', user.secret]]));
  const { location } = await browser.step(startOf('forged'), { headers: { Referer: `${app}/settings` } });
  const to = new URL(location ?? '');
  const { inflateRawSync } = await import('node:zlib');
  const request = inflateRawSync(Buffer.from(to.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const said = saidOf(target, 'forged', / ID="([^"]+)"/.exec(request)?.[1], { nameId: 'linked' });
  const fields = {
    SAMLResponse: encoded(signed(documentOf(partsOf(said)))),
    RelayState: to.searchParams.get('RelayState') ?? '',
  };
  assert.equal(endOf(await post(browser, 'forged', fields)).page, `${app}/done`);
  assert.equal((await accountOf(browser.cookie('svc_main') ?? '')).$id, user.id);
  const { session } = await logIn(target, 'forged', { nameId: 'linked' });
  assert.equal((await accountOf(session)).$id, user.id);
});

test('signatures of several keys and of both kinds count, and so does a signed response', async () => {
  await addForged(target, 'many', { certificates: [stranger.cert, curve.cert] });
  const attempt = async (sign: (xml: string) => string) => {
    const browser = createBrowser(target);
    const { requestId, relayState } = await begin(browser, 'many');
    const xml = documentOf(partsOf(saidOf(target, 'many', requestId)));
    return endOf(await post(browser, 'many', { SAMLResponse: encoded(sign(xml)), RelayState: relayState })).page;
  };
  const more = 'http://www.w3.org/2001/04/xmldsig-more#';
  const ec = { identity: curve, algorithm: `${more}ecdsa-sha256`, digest: 'http://www.w3.org/2001/04/xmlenc#sha512' };
  assert.equal(await attempt((xml) => signed(xml, { identity: stranger })), `${app}/done`);
  assert.equal(await attempt((xml) => signed(xml, ec)), `${app}/done`);
  assert.equal(
    await attempt((xml) => signed(signed(xml, { identity: stranger }), { ...ec, what: 'Response' })),
    `${app}/done`,
  );
  assert.equal(await attempt((xml) => signed(xml)), `${app}/failed`);
});

test('attributes: a name of one’s own for the id, the address and the name', async () => {
  const config = {
    uidAttribute: 'employee',
    emailAttribute: 'work',
    nameAttribute: 'called',
    emailDomains: ['corp.example'],
  };
  await addForged(target, 'mapped', config);
  const attributes = { employee: ['42'], work: ['Ann@Corp.Example'], mail: ['x@corp.example'], called: ['Ann'] };
  const format = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
  const { session } = await logIn(target, 'mapped', { attributes, format, nameId: 'one' });
  const account = await accountOf(session);
  assert.deepEqual([account.email, account.emailVerification, account.name], ['ann@corp.example', true, 'Ann']);
  const again = await logIn(target, 'mapped', { attributes, format, nameId: 'two' });
  assert.equal((await accountOf(again.session)).$id, account.$id);
  for (const employee of [[], ['1', '2'], ['']])
    assert.equal(
      endOf((await logIn(target, 'mapped', { attributes: { employee } })).end).error?.type,
      'user_missing_id',
    );
});

test('an address of another domain than the listed ones is not verified', async () => {
  for (const [email, verified] of [
    ['a@corp.example', true],
    ['b@sub.corp.example', false],
    ['c@notcorp.example', false],
    ['d@evil.example', false],
  ] as const) {
    const { session } = await logIn(target, 'forged', { nameId: email, attributes: { email: [email] } });
    const account = await accountOf(session);
    assert.deepEqual([account.email, account.emailVerification], [email, verified]);
  }
});

test('a login leaves only the identity, and used ids are removed after their expiry', async () => {
  await logIn(target, 'forged', { nameId: 'left' });
  assert.ok((await rowsOf(target, 'used_answers')).length > 0);
  target.clock.advance(2 * 3_600_000);
  await target.appliance.features.jobs.run('logins.prune');
  for (const name of [usedAnswers.name, 'login_transactions']) assert.deepEqual(await rowsOf(target, name), [], name);
});
