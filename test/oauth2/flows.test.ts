// Logins at a real identity provider: both flows, coming back, linking, tokens, and what is left of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';
import { app, assertFailed, createBrowser, endOf, startUrl } from './browser.js';
import { aSomebody } from './identity-provider.js';
import { aProvider, startOpen } from './setup.js';

const target = await startOpen();
const idp = await aProvider(target);
const guest = createClient(target);
const cookieName = 'svc_main';

/** Logs somebody in by the session flow, in a browser of its own. */
async function logIn(user = aSomebody(), browser = createBrowser(target)) {
  idp.user = user;
  const end = await browser.open(startUrl('sessions', 'corp'));
  return { user, browser, end, session: browser.cookie(cookieName) ?? '' };
}
const accountOf = async (session: string) => (await createClient(target, { session }).get('/account')).expect(200).body;

test('the session flow leads to the page of the application with a session in the cookie', async () => {
  const { user, browser, end, session } = await logIn();
  assert.deepEqual(endOf(end).page, `${app}/done`);
  assert.deepEqual([...endOf(end).query], []);
  assert.match(end.headers.getSetCookie().join('\n'), /svc_tx_[0-9a-f]+=; Path=\/; Max-Age=0/);
  const account = await accountOf(session);
  assert.deepEqual([account.email, account.emailVerification, account.name], [user.email, true, user.name]);
  const current = (await createClient(target, { session }).get('/account/sessions/current')).expect(200).body;
  assert.deepEqual([current.provider, current.providerUid, current.factors], ['corp', user.sub, ['email', 'oauth2']]);
  assert.notEqual(current.providerAccessToken, '');
  assert.notEqual(current.providerRefreshToken, '');
  assert.ok(Date.parse(String(current.providerAccessTokenExpiry)) > Date.now());
  assert.equal([...(browser.cookies.get('localhost:8080')?.keys() ?? [])].join(), cookieName);
});

test('the same user comes back to the same account, also with another address there', async () => {
  const { user, session } = await logIn();
  const again = await logIn({ ...user, email: 'other@idp.example' });
  assert.equal((await accountOf(again.session)).$id, (await accountOf(session)).$id);
  assert.equal((await accountOf(again.session)).email, user.email);
});

test('the token flow gives the page a secret that counts once, for a minute', async () => {
  const exchange = (body: object) => guest.post('/account/sessions/token', body);
  idp.user = aSomebody();
  const tokenOf = async () => {
    const { page, query } = endOf(await createBrowser(target).open(startUrl('tokens', 'corp')));
    assert.equal(page, `${app}/done`);
    return { userId: query.get('userId'), secret: query.get('secret') };
  };
  const token = await tokenOf();
  const session = (await exchange(token)).expect(201).body;
  assert.deepEqual(
    [session.provider, session.providerUid, session.factors],
    ['corp', idp.user.sub, ['email', 'oauth2']],
  );
  assert.notEqual(session.providerAccessToken, '');
  (await exchange(token)).refused(401, 'user_invalid_token');
  const late = await tokenOf();
  target.clock.advance(61_000);
  (await exchange(late)).refused(401, 'user_invalid_token');
  const parallel = await tokenOf();
  const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(parallel)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
});

test('a token is void once its identity is unlinked', async () => {
  const { session } = await logIn();
  const { query } = endOf(await createBrowser(target).open(startUrl('tokens', 'corp')));
  const client = createClient(target, { session });
  const [identity] = (await client.get('/account/identities')).expect(200).list('identities');
  (await client.delete(`/account/identities/${identity?.$id}`)).expect(204);
  const token = { userId: query.get('userId'), secret: query.get('secret') };
  (await guest.post('/account/sessions/token', token)).refused(401, 'user_invalid_token');
});

test('a token is void while its provider is disabled', async () => {
  const { runtime, features } = target.appliance;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: '1' }, requestId: '' };
  const enable = (enabled: boolean) =>
    runtime.db.work(by, (unit) => features.providers.update(unit, target.project, 'corp', { enabled }));
  idp.user = aSomebody();
  const { query } = endOf(await createBrowser(target).open(startUrl('tokens', 'corp')));
  const token = { userId: query.get('userId'), secret: query.get('secret') };
  await enable(false);
  (await guest.post('/account/sessions/token', token)).refused(401, 'user_invalid_token');
  await enable(true);
});

test('without a page the answer is JSON: the session, or the token', async () => {
  idp.user = aSomebody();
  const session = await createBrowser(target).open(startUrl('sessions', 'corp', {}));
  assert.equal(session.status, 201);
  const { secret, provider, current } = JSON.parse(session.text);
  assert.deepEqual([provider, current], ['corp', true]);
  assert.equal((await accountOf(secret)).email, idp.user.email);
  const token = await createBrowser(target).open(startUrl('tokens', 'corp', {}));
  assert.equal(token.status, 201);
  const { userId, secret: once } = JSON.parse(token.text);
  (await guest.post('/account/sessions/token', { userId, secret: once })).expect(201);
});

test('a login that an app has opened leads back to the app, which gets its session by the address', async () => {
  const callback = 'appwrite-callback-main://';
  const end = async (flow: 'sessions' | 'tokens', pages: Record<string, string>, headers = {}) => {
    idp.user = aSomebody();
    const { location, status } = await createBrowser(target).open(startUrl(flow, 'corp', pages), headers);
    assert.equal(status, 302);
    return new URL(location ?? '');
  };
  const asBrowser = { Accept: 'text/html' };
  idp.user = aSomebody();
  assert.equal((await createBrowser(target).open(startUrl('sessions', 'corp', {}), asBrowser)).status, 200);
  const { client: key } = await aServerKey(target);
  const app = { platformId: 'app', name: 'App', applicationId: 'com.example.app' };
  (await key.post('/project/platforms/android', app)).expect(201);
  const given = await end('sessions', { success: `${callback}open?a=1`, failure: callback });
  assert.equal(given.href.split('&')[0], `${callback}open?a=1`);
  assert.equal(given.searchParams.get('key'), cookieName);
  assert.equal((await accountOf(given.searchParams.get('secret') ?? '')).email, idp.user?.email);
  const token = await end('tokens', { success: callback, failure: callback });
  const [userId, secret] = [token.searchParams.get('userId'), token.searchParams.get('secret')];
  (await guest.post('/account/sessions/token', { userId, secret })).expect(201);
  assert.equal(token.searchParams.has('key'), false);
  const unnamed = await end('sessions', {}, asBrowser);
  assert.equal(unnamed.href.split('?')[0], callback);
  assert.equal((await accountOf(unnamed.searchParams.get('secret') ?? '')).email, idp.user?.email);
  (await key.delete('/project/platforms/app')).expect(204);
});

test('a login in a browser that holds a session ends that session', async () => {
  const { browser, session } = await logIn();
  idp.user = aSomebody();
  for (const host of [...browser.cookies.keys()]) if (host !== 'localhost:8080') browser.cookies.delete(host);
  await browser.open(startUrl('sessions', 'corp'));
  const next = browser.cookie(cookieName) ?? '';
  assert.notEqual(next, session);
  assert.equal((await accountOf(next)).email, idp.user.email);
  (await createClient(target, { session }).get('/account')).refused(401, 'general_unauthorized_scope');
});

test('a session that begins the login from a page of the project gets the identity', async () => {
  const user = await aLoggedInUser(target);
  const browser = createBrowser(target);
  browser.cookies.set('localhost:8080', new Map([[cookieName, user.secret]]));
  const someone = aSomebody();
  idp.user = someone;
  const end = await browser.open(startUrl('sessions', 'corp'), { Referer: `${app}/settings` });
  assert.equal(endOf(end).page, `${app}/done`);
  const session = browser.cookie(cookieName) ?? '';
  const account = await accountOf(session);
  assert.deepEqual([account.$id, account.email], [user.id, user.email]);
  (await user.client.get('/account')).refused(401, 'general_unauthorized_scope');
  const client = createClient(target, { session });
  const { identities, total } = (await client.get('/account/identities')).expect(200).body as {
    identities: Record<string, unknown>[];
    total: number;
  };
  assert.equal(total, 1);
  assert.deepEqual(
    [identities[0]?.userId, identities[0]?.provider, identities[0]?.providerUid, identities[0]?.providerEmail],
    [user.id, 'corp', someone.sub, someone.email],
  );
  assert.equal((await accountOf((await logIn(someone)).session)).$id, user.id);
});

test('an anonymous account becomes a real one by an identity, with its address and name', async () => {
  const { secret, userId } = (await guest.post('/account/sessions/anonymous', {})).expect(201).body;
  const browser = createBrowser(target);
  browser.cookies.set('localhost:8080', new Map([[cookieName, String(secret)]]));
  idp.user = aSomebody();
  target.clock.advance(30 * 60_000);
  await browser.open(startUrl('sessions', 'corp'), { Referer: `${app}/` });
  const account = await accountOf(browser.cookie(cookieName) ?? '');
  assert.deepEqual(
    [account.$id, account.email, account.emailVerification, account.name],
    [userId, idp.user.email, true, idp.user.name],
  );
  (await createClient(target, { session: String(secret) }).get('/account')).refused(401, 'general_unauthorized_scope');
});

test('an identity of another user is not linked, nor one whose address another user has', async () => {
  const { user: taken } = await logIn();
  const link = async (somebody: ReturnType<typeof aSomebody>) => {
    const { secret } = await aLoggedInUser(target);
    const browser = createBrowser(target);
    browser.cookies.set('localhost:8080', new Map([[cookieName, secret]]));
    idp.user = somebody;
    return browser.open(startUrl('sessions', 'corp'), { Referer: `${app}/` });
  };
  assertFailed(await link(taken), 409, 'user_already_exists');
  assertFailed(await link(aSomebody({ email: taken.email ?? '' })), 409, 'user_already_exists');
});

test('linking needs a login not older than 20 minutes, and a session that is still there', async () => {
  const user = await aLoggedInUser(target);
  const browser = createBrowser(target);
  const hold = () => browser.cookies.set('localhost:8080', new Map([[cookieName, user.secret]]));
  hold();
  idp.user = aSomebody();
  const url = await browser.until(startUrl('sessions', 'corp'), idp.issuer);
  assert.ok(url);
  target.clock.advance(21 * 60_000);
  hold();
  assertFailed(
    await browser.open(startUrl('sessions', 'corp'), { Referer: `${app}/` }),
    401,
    'user_challenge_required',
  );
});

test('PATCH of the session refreshes the token of the provider, and extends it also while the provider is away', async () => {
  const { session, user } = await logIn();
  const client = createClient(target, { session });
  const before = (await client.get('/account/sessions/current')).expect(200).body;
  const after = (await client.patch('/account/sessions/current')).expect(200).body;
  assert.notEqual(after.providerAccessToken, before.providerAccessToken);
  assert.notEqual(after.providerRefreshToken, before.providerRefreshToken);
  assert.deepEqual(
    (await client.get('/account/sessions')).expect(200).list('sessions')[0]?.providerAccessToken,
    after.providerAccessToken,
  );
  const stored = (await rowsOf(target, 'identities')).find((row) => row.provider_uid === user.sub);
  for (const token of [after.providerAccessToken, after.providerRefreshToken])
    assert.ok(!JSON.stringify(stored).includes(String(token)));
});

test('a user lists and unlinks identities; sessions that they opened elsewhere end', async () => {
  const { session, user } = await logIn();
  const elsewhere = (await logIn(user)).session;
  const client = createClient(target, { session });
  const [identity] = (await client.get('/account/identities')).expect(200).list('identities');
  const other = await aLoggedInUser(target);
  (await other.client.delete(`/account/identities/${identity?.$id}`)).refused(404, 'user_identity_not_found');
  (await client.delete(`/account/identities/${identity?.$id}`)).expect(204);
  (await client.delete(`/account/identities/${identity?.$id}`)).refused(404, 'user_identity_not_found');
  assert.deepEqual((await client.get('/account/identities')).expect(200).body, { total: 0, identities: [] });
  (await createClient(target, { session: elsewhere }).get('/account')).refused(401, 'general_unauthorized_scope');
  (await client.get('/account')).expect(200);
  assert.equal((await client.get('/account/sessions/current')).expect(200).body.providerAccessToken, '');
});

test('a server key lists and unlinks identities of all users, and they go with their user', async () => {
  const { session, user } = await logIn();
  const { client: key } = await aServerKey(target);
  const { $id: userId } = await accountOf(session);
  const query = encodeURIComponent(JSON.stringify({ method: 'equal', attribute: 'providerUid', values: [user.sub] }));
  const listed = (await key.get(`/users/identities?queries[]=${query}`)).expect(200);
  assert.deepEqual(
    listed.list('identities').map((one) => one.userId),
    [userId],
  );
  assert.ok(Number((await key.get('/users/identities')).expect(200).body.total) > 1);
  const gone = await logIn();
  const { $id: goneId } = await accountOf(gone.session);
  (await key.delete(`/users/${goneId}`)).expect(204);
  assert.ok(!(await rowsOf(target, 'identities')).some((row) => row.user_id === goneId));
  const anew = await accountOf((await logIn(gone.user)).session);
  assert.notEqual(anew.$id, goneId);
  (await key.delete(`/users/identities/${listed.list('identities')[0]?.$id}`)).expect(204);
  (await createClient(target, { session }).get('/account')).refused(401, 'general_unauthorized_scope');
});
