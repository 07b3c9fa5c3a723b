// Invitations: the mail, the link, what following it does, and what it does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aPerson, aServerKey, aUser, logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { lastMessageTo, messagesTo } from '../harness/messages.js';
import { asOperator } from '../harness/project.js';
import { aGuardedUser } from '../second-factor/people.js';
import { accept, addMember, assertInStep, aTeam, invite, linkOf, page } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const guest = createClient(target);
const key = (await aServerKey(target)).client;
const day = 86_400_000;

test('an unknown person is invited by mail, follows the link, and is a logged-in member', async () => {
  const team = await aTeam(target);
  const email = 'New.Person@mail.example';
  const invitation = { email, name: 'New', roles: ['reader', 'reader'], url: page };
  const { value: made, recorded } = await recordedBy(target, () =>
    team.owner.client.post(team.memberships, invitation, { 'Accept-Language': 'de' }),
  );
  assert.deepEqual(recorded, { ...nothing, audit: ['accountCreated', 'membershipInvited'], messages: ['invitation'] });
  const { userEmail, userName, confirm, joined, roles, $id, userId } = made.expect(201).body;
  assert.deepEqual(
    [userEmail, userName, confirm, joined, roles],
    ['new.person@mail.example', 'New', false, '', ['reader']],
  );
  const mail = await lastMessageTo(target, 'new.person@mail.example');
  assert.deepEqual(
    [mail.template, mail.userId === userId, mail.locals.team],
    ['invitation', false, (await key.get(team.path)).body.name],
  );
  assert.deepEqual(
    [mail.locals.inviter, mail.locals.name, mail.locals.project],
    [team.owner.name, 'New', target.project.name],
  );
  const link = new URL(String(mail.locals.link));
  assert.equal(link.origin + link.pathname, 'http://localhost:3000/join');
  const { secret, ...carried } = Object.fromEntries(link.searchParams);
  const expected = {
    from: 'mail',
    membershipId: $id,
    userId,
    teamId: team.id,
    teamName: mail.locals.team,
    project: 'main',
  };
  assert.deepEqual(carried, expected);
  assert.match(String(secret), /^[\w-]{43}$/);
  for (const table of ['memberships', 'messages', 'audit_entries', 'audit_subjects'])
    assert.ok(!JSON.stringify(await rowsOf(target, table)).includes(String(secret)), table);

  const browser = createClient(target, { browser: 'http://localhost:3000' });
  const followed = await recordedBy(target, async () => accept(browser, await linkOf(target, mail.to)));
  assert.deepEqual(followed.recorded, {
    audit: ['accountEmailVerified', 'membershipConfirmed', 'sessionCreated'],
    events: ['sessionCreated'],
    messages: [],
  });
  const answer = followed.value.expect(200);
  assert.deepEqual([answer.body.confirm, answer.body.userEmail, answer.body.$id], [true, mail.to, $id]);
  assert.equal(answer.body.secret, undefined);
  const account = (await browser.get('/account')).expect(200).body;
  assert.deepEqual([account.$id, account.emailVerification, account.name], [mail.userId, true, 'New']);
  const [session] = (await browser.get('/account/sessions')).list('sessions');
  assert.deepEqual([session?.provider, session?.providerUid, session?.factors], ['email', mail.to, ['email']]);
  assert.equal((await browser.get(team.path)).expect(200).body.total, 2);
  await assertInStep(target);
});

test('GET and HEAD of the address that is followed consume nothing', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const link = await invite(target, team, user.email);
  const path = `${team.memberships}/${link.membershipId}/status?userId=${link.userId}&secret=${link.secret}`;
  for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await guest.request(method, path)).status, 405);
  (await accept(user.client, link)).expect(200);
});

test('a logged-in user joins without another session; another user gets a refusal that says so', async () => {
  const team = await aTeam(target);
  const [ada, eve] = [await aLoggedInUser(target), await aLoggedInUser(target)];
  const link = await invite(target, team, ada.email);
  (await accept(eve.client, link)).refused(401, 'team_invite_mismatch');
  const { value, recorded } = await recordedBy(target, () => accept(ada.client, link));
  assert.deepEqual([value.expect(200).status, value.headers.getSetCookie()], [200, []]);
  assert.deepEqual(recorded, { ...nothing, audit: ['accountEmailVerified', 'membershipConfirmed'] });
  assert.equal((await ada.client.get('/account')).body.emailVerification, true);
  (await ada.client.get('/account/sessions/current')).expect(200);
  await logIn(target, ada);
});

test('refusals: each has its type, and nothing changes', async () => {
  const [team, other] = [await aTeam(target), await aTeam(target)];
  const user = await aUser(target);
  const link = await invite(target, team, user.email);
  const table = [
    [401, 'team_invalid_secret', { secret: 'x'.repeat(43) }],
    [401, 'team_invalid_secret', { secret: '' }],
    [401, 'team_invite_mismatch', { userId: 'somebody' }],
    [404, 'membership_not_found', { membershipId: 'nothing' }],
    // Nobody is told which teams there are.
    [404, 'membership_not_found', { teamId: 'nothing' }],
    [404, 'team_membership_mismatch', { teamId: other.id }],
  ] as const;
  for (const [status, type, change] of table) {
    const { value, recorded } = await recordedBy(target, () => accept(guest, { ...link, ...change }));
    value.refused(status, type);
    assert.deepEqual(recorded, { ...nothing, audit: type === 'team_invalid_secret' ? ['loginFailed'] : [] }, type);
  }
  for (const body of [{}, { userId: link.userId }, { userId: link.userId, secret: 'x'.repeat(257) }])
    (await guest.patch(`${team.memberships}/${link.membershipId}/status`, body)).refused(
      400,
      'general_argument_invalid',
    );
  const foreign = createClient(target, { project: target.neighbour.id });
  (await accept(foreign, link)).refused(404, 'membership_not_found');
  await asOperator(target, user.id, 'block');
  (await accept(guest, link)).refused(403, 'user_blocked');
  await asOperator(target, user.id, 'unblock');
  (await accept(guest, link)).expect(200);
  (await accept(guest, link)).refused(409, 'membership_already_confirmed');
  const added = await aUser(target);
  const membershipId = await addMember(key, team, added.id);
  (await accept(guest, { ...link, membershipId, userId: added.id })).refused(401, 'team_invalid_secret');
});

test('inviting again replaces the link and the roles; an invitation that was taken back is gone', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const first = await invite(target, team, user.email, ['a']);
  const second = await invite(target, team, user.email, ['b']);
  assert.equal(second.membershipId, first.membershipId);
  (await accept(guest, first)).refused(401, 'team_invalid_secret');
  assert.deepEqual((await accept(user.client, second)).expect(200).body.roles, ['b']);
  assert.equal((await messagesTo(target, user.email)).length, 2);
  const third = await aLoggedInUser(target);
  const link = await invite(target, team, third.email);
  (await team.owner.client.delete(`${team.memberships}/${link.membershipId}`)).expect(204);
  (await accept(third.client, link)).refused(404, 'membership_not_found');
  const fourth = await aLoggedInUser(target);
  await invite(target, team, fourth.email, ['a']);
  const body = { email: fourth.email, roles: ['c'] };
  assert.deepEqual((await key.post(team.memberships, body)).expect(201).body.roles, ['c']);
  (await fourth.client.get(team.path)).expect(200);
  await assertInStep(target);
});

test('until acceptance the team shows the given contact, and the invited user sees no team', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target, { name: 'Secret name' });
  const link = await invite(target, team, user.email);
  const seen = async (client: typeof guest) => {
    const { userName, userEmail, userAccessedAt } = (await client.get(`${team.memberships}/${link.membershipId}`)).body;
    return [userName, userEmail, userAccessedAt !== ''];
  };
  assert.deepEqual(await seen(team.owner.client), ['', user.email, false]);
  assert.deepEqual(await seen(key), ['Secret name', user.email, true]);
  (await user.client.get(team.path)).refused(404, 'team_not_found');
  assert.equal((await user.client.get('/teams')).body.total, 0);
  const byId = await aUser(target, { name: 'By id' });
  const made = await team.owner.client.post(team.memberships, { userId: byId.id, roles: [], url: page });
  assert.deepEqual([made.expect(201).body.userEmail, made.body.userName], ['', '']);
  (await accept(user.client, link)).expect(200);
  assert.deepEqual(await seen(team.owner.client), ['Secret name', user.email, true]);
});

test('a link logs in for seven days, until the password or address changes, and admits a logged-in user', async () => {
  const team = await aTeam(target);
  const scenarios: Record<string, (user: Awaited<ReturnType<typeof aLoggedInUser>>) => Promise<void>> = {
    'seven days': async () => target.clock.advance(7 * day),
    'another password': async ({ client, password }) => {
      target.clock.advance(1000);
      (await client.patch('/account/password', { password: 'another password', oldPassword: password })).expect(200);
    },
    'another address': async ({ client, email, password }) => {
      (await client.patch('/account/email', { email: `other-${email}`, password })).expect(200);
    },
  };
  for (const [name, happen] of Object.entries(scenarios)) {
    const user = await aLoggedInUser(target);
    const link = await invite(target, team, user.email);
    await happen(user);
    const { value, recorded } = await recordedBy(target, () => accept(guest, link));
    value.refused(401, 'team_invalid_secret');
    assert.deepEqual(recorded, { ...nothing, audit: ['loginFailed'] }, name);
    (await accept(user.client, link)).expect(200);
    const verified = (await user.client.get('/account')).body.emailVerification;
    assert.equal(verified, name !== 'another address', name);
  }
});

test('a user who signed up with an unproved address is logged out when its owner follows the link', async () => {
  const team = await aTeam(target);
  const squatter = await aLoggedInUser(target);
  const link = await invite(target, team, squatter.email);
  const { value, recorded } = await recordedBy(target, () => accept(guest, link));
  value.expect(200);
  const audit = [
    ...['accountClaimed', 'accountEmailVerified', 'accountPasswordChanged', 'membershipConfirmed'],
    ...['sessionCreated', 'sessionDeleted'],
  ];
  assert.deepEqual(recorded, { audit, events: ['sessionCreated', 'sessionDeleted'], messages: ['account-claimed'] });
  (await squatter.client.get('/account')).refused(401, 'general_unauthorized_scope');
  const { email, password } = squatter;
  (await guest.post('/account/sessions/email', { email, password })).refused(401, 'user_invalid_credentials');
  const proved = await aLoggedInUser(target);
  await runSql(target, 'update users set email_verification = 1 where id = ?', [proved.id]);
  (await accept(guest, await invite(target, team, proved.email))).expect(200);
  (await proved.client.get('/account')).expect(200);
  await logIn(target, proved);
});

test('fifty who follow a link at the same moment on two servers: one joins', async () => {
  const team = await aTeam(target);
  const { email } = aPerson();
  const link = await invite(target, team, email);
  const { value: answers, recorded } = await recordedBy(target, () =>
    Promise.all(Array.from({ length: 50 }, (_, at) => accept(createClient(at % 2 === 0 ? target : sibling), link))),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 200))
    answer.refused(409, 'membership_already_confirmed');
  assert.deepEqual(recorded, {
    audit: ['accountEmailVerified', 'membershipConfirmed', 'sessionCreated'],
    events: ['sessionCreated'],
    messages: [],
  });
  assert.equal((await key.get(team.path)).body.total, 2);
});

test('ten who invite the same new address at the same moment: one user, one membership a team', async () => {
  const [team, other] = [await aTeam(target), await aTeam(target)];
  const { email } = aPerson();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) => {
      const { owner, memberships } = at % 2 === 0 ? team : other;
      return owner.client.post(memberships, { email, roles: [], url: page });
    }),
  );
  for (const answer of answers) answer.expect(201);
  assert.equal(new Set(answers.map(({ body }) => body.$id)).size, 2);
  assert.equal((await rowsOf(target, 'users')).filter((row) => row.email === email).length, 1);
});

test('invitations to an address are counted', async () => {
  const strict = await startAppliance({ settings: { SVC_RATE_LIMITS: 'signup=1000/60,data=100000/60' } });
  const team = await aTeam(strict);
  const body = { email: 'often@mail.example', roles: [], url: page };
  const statuses: number[] = [];
  for (let at = 0; at < 5; at++) statuses.push((await team.owner.client.post(team.memberships, body)).status);
  assert.deepEqual(statuses, [201, 201, 201, 429, 429]);
  assert.equal((await messagesTo(strict, body.email)).length, 3);
});

test('a login that lacks its second factor leaves the invitation and the account as they are', async () => {
  const team = await aTeam(target);
  const user = await aGuardedUser(target);
  const link = await invite(target, team, user.email);
  const state = async () => (await key.get(`/users/${user.id}`)).expect(200).body;
  const before = await state();
  assert.equal(before.emailVerification, false);
  const follow = (otp?: string) =>
    guest.patch(`/teams/${team.id}/memberships/${link.membershipId}/status`, {
      userId: link.userId,
      secret: link.secret,
      otp,
    });
  for (const [otp, type, audit] of [
    [undefined, 'user_more_factors_required', 'loginPending'],
    ['000000', 'user_invalid_token', 'loginFailed'],
  ] as const) {
    const { value, recorded } = await recordedBy(target, () => follow(otp));
    value.refused(401, type);
    assert.deepEqual(recorded, { ...nothing, audit: [audit] });
    const { accessedAt: _, ...now } = await state();
    const { accessedAt: __, ...then } = before;
    assert.deepEqual(now, then);
    const open = (await key.get(`${team.memberships}/${link.membershipId}`)).expect(200).body;
    assert.equal(open.confirm, false);
  }
  const accepted = await recordedBy(target, () => follow(user.app.nextCode()));
  assert.equal(accepted.value.expect(200).body.confirm, true);
  assert.deepEqual(accepted.recorded.audit, ['accountEmailVerified', 'membershipConfirmed', 'sessionCreated']);
  assert.equal((await state()).emailVerification, true);
});
