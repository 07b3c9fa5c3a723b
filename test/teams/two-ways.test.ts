// Somebody who is invited by id and by address has two invitations, as two people would have, until one of them is accepted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey, type LoggedInUser } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { insertion, nothing, recordedBy, rowsOf, runSql } from '../harness/database.js';
import { schemaOf } from '../harness/platform.js';
import { aContact } from '../logins/setup.js';
import { aNumber } from '../proofs/proofs.js';
import { accept, addMember, assertInStep, aTeam, invite, linkOf, page, type TestTeam } from './setup.js';

const target = await startAppliance();
const sibling = await target.startSibling();
const guest = createClient(target);
const key = (await aServerKey(target)).client;

async function inviteById(team: TestTeam, { id, email }: LoggedInUser, roles: readonly string[] = ['by-id']) {
  (await team.owner.client.post(team.memberships, { userId: id, roles, url: page })).expect(201);
  return linkOf(target, email);
}
/** Somebody with both invitations to a new team. */
async function invitedTwice() {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const byId = await inviteById(team, user);
  return { team, user, byId, byAddress: await invite(target, team, user.email, ['by-address']) };
}
/** What the owner is shown besides the own membership: ids, and whether they have joined. */
async function shown({ owner, memberships }: TestTeam) {
  const listed = (await owner.client.get(memberships)).expect(200);
  const others = listed.list('memberships').filter(({ userId }) => userId !== owner.id);
  assert.equal(listed.body.total, others.length + 1);
  return others.map(({ $id, userId, confirm }) => [$id, userId, confirm]);
}
async function changeAddress({ client, email, password }: LoggedInUser): Promise<string> {
  (await client.patch('/account/email', { email: `new-${email}`, password })).expect(200);
  return `new-${email}`;
}

test('an id and an address of one account are answered as those of two, in any order and again', async () => {
  const seen = [];
  for (const order of [
    ['id', 'address'],
    ['address', 'id'],
    ['id', 'stranger'],
    ['stranger', 'id'],
  ]) {
    const team = await aTeam(target);
    const user = await aLoggedInUser(target);
    const named: Record<string, object> = {
      id: { userId: user.id },
      address: { email: user.email },
      stranger: { email: aContact('email') },
    };
    const answers = [];
    for (const name of [...order, ...order]) {
      const body = { ...named[name], name: 'N', roles: [name === 'id' ? 'a' : 'b'], url: page };
      answers.push((await team.owner.client.post(team.memberships, body)).expect(201).body);
    }
    const [first, second, firstAgain, secondAgain] = answers;
    for (const member of ['$id', 'userId', '$createdAt', 'userEmail']) {
      assert.equal(firstAgain?.[member], first?.[member], member);
      assert.equal(secondAgain?.[member], second?.[member], member);
    }
    assert.notEqual(first?.$id, second?.$id);
    assert.notEqual(first?.userId, second?.userId);
    const rest = await shown(team);
    assert.deepEqual(
      rest.map(([id]) => id),
      [first?.$id, second?.$id],
    );
    assert.ok(rest.every(([, userId, confirm]) => userId !== user.id && confirm === false));
    assert.equal((await team.owner.client.get(team.path)).body.total, 1);
    seen.push(answers.map(({ roles, userName }) => [roles, userName]));
  }
  assert.deepEqual(seen[0], seen[2]);
  assert.deepEqual(seen[1], seen[3]);
});

test('the id that a team sees for an invited user is used for no other user', async () => {
  const team = await aTeam(target);
  const body = { email: aContact('email'), roles: ['a'], url: page };
  const { userId } = (await team.owner.client.post(team.memberships, body)).expect(201).body;
  const taken = { userId, email: aContact('email'), password: 'seven-green-lamps' };
  (await guest.post('/account', taken)).refused(409, 'user_already_exists');
  (await key.post('/users', taken)).refused(409, 'user_already_exists');
});

test('accepting one ends the other, whichever it is', async () => {
  for (const isById of [true, false]) {
    const { team, user, byId, byAddress } = await invitedTwice();
    const [taken, other] = isById ? [byId, byAddress] : [byAddress, byId];
    const { value, recorded } = await recordedBy(target, () => accept(user.client, taken));
    assert.deepEqual(value.expect(200).body.roles, [isById ? 'by-id' : 'by-address']);
    const audit = ['accountEmailVerified', 'membershipConfirmed', 'membershipDeleted'];
    assert.deepEqual(recorded, { ...nothing, audit });
    for (const client of [user.client, guest]) {
      const late = await recordedBy(target, () => accept(client, other));
      late.value.refused(404, 'membership_not_found');
      assert.deepEqual(late.recorded, nothing);
      (await accept(client, taken)).refused(409, 'membership_already_confirmed');
    }
    assert.deepEqual(await shown(team), [[taken.membershipId, user.id, true]]);
    assert.equal((await team.owner.client.get(team.path)).body.total, 2);
    for (const named of [{ userId: user.id }, { email: user.email }])
      (await team.owner.client.post(team.memberships, { ...named, roles: [], url: page })).refused(
        409,
        'membership_already_confirmed',
      );
  }
  await assertInStep(target);
});

test('a link of either kind logs in, and the other is over', async () => {
  for (const pick of ['byId', 'byAddress'] as const) {
    const both = await invitedTwice();
    (await accept(guest, both[pick])).expect(200);
    (await accept(guest, both[pick === 'byId' ? 'byAddress' : 'byId'])).refused(404, 'membership_not_found');
    assert.deepEqual(await shown(both.team), [[both[pick].membershipId, both.user.id, true]]);
  }
});

test('a user who follows both links at the same moment on two servers joins once', async () => {
  for (let round = 0; round < 5; round++) {
    const { team, user, byId, byAddress } = await invitedTwice();
    const answers = await Promise.all(
      [byId, byAddress, byId, byAddress].map((link, at) =>
        accept(createClient(at < 2 ? target : sibling, { session: user.secret }), link),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const { status, body } of answers.filter((answer) => answer.status !== 200))
      assert.ok(
        ['404 membership_not_found', '409 membership_already_confirmed'].includes(`${status} ${body.type}`),
        JSON.stringify(body),
      );
    assert.equal((await shown(team)).length, 1);
    assert.equal((await team.owner.client.get(team.path)).body.total, 2);
  }
  await assertInStep(target);
});

test('declining or withdrawing one leaves the other; the deletion of the user or the team ends both', async () => {
  for (const by of ['the user', 'the owner'] as const) {
    const { team, user, byId, byAddress } = await invitedTwice();
    const client = by === 'the user' ? user.client : team.owner.client;
    (await client.delete(`${team.memberships}/${byAddress.membershipId}`)).expect(204);
    (await accept(user.client, byAddress)).refused(404, 'membership_not_found');
    (await accept(user.client, byId)).expect(200);
    const more = await invitedTwice();
    const other = by === 'the user' ? more.user.client : more.team.owner.client;
    (await other.delete(`${more.team.memberships}/${more.byId.membershipId}`)).expect(204);
    (await accept(more.user.client, more.byAddress)).expect(200);
  }
  const stranger = await aLoggedInUser(target);
  const [gone, dissolved] = [await invitedTwice(), await invitedTwice()];
  const path = `${gone.team.memberships}/${gone.byAddress.membershipId}`;
  (await stranger.client.delete(path)).refused(404, 'team_not_found');
  (await gone.user.client.delete('/account')).expect(204);
  assert.deepEqual(await shown(gone.team), []);
  (await dissolved.team.owner.client.delete(dissolved.team.path)).expect(204);
  (await accept(dissolved.user.client, dissolved.byAddress)).refused(404, 'membership_not_found');
  const left = (await rowsOf(target, 'memberships')).map(({ team_id }) => team_id);
  assert.ok(!left.includes(dissolved.team.id));
});

test('a server key sees both with their user, and ends both by adding', async () => {
  const { team, user, byId, byAddress } = await invitedTwice();
  const ofUser = async () =>
    (await key.get(`/users/${user.id}/memberships`)).list('memberships').map(({ $id, confirm }) => [$id, confirm]);
  assert.deepEqual(await ofUser(), [
    [byId.membershipId, false],
    [byAddress.membershipId, false],
  ]);
  const { value, recorded } = await recordedBy(target, () => addMember(key, team, user.id, ['x']));
  assert.equal(value, byId.membershipId);
  assert.deepEqual(recorded, { ...nothing, audit: ['membershipConfirmed', 'membershipDeleted'] });
  assert.deepEqual(await ofUser(), [[byId.membershipId, true]]);
  (await accept(user.client, byAddress)).refused(404, 'membership_not_found');
  const other = await aLoggedInUser(target);
  const link = await invite(target, team, other.email);
  assert.equal(await addMember(key, team, other.id), link.membershipId);
  await assertInStep(target);
});

test('two addresses that an account has had are two, and one that changed hands is one', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const old = await invite(target, team, user.email);
  const address = await changeAddress(user);
  const now = await invite(target, team, address);
  assert.notEqual(now.membershipId, old.membershipId);
  assert.notEqual(now.userId, old.userId);
  const byId = await inviteById(team, { ...user, email: address });
  // That the end of one ended the others would tell which addresses the account has had.
  (await accept(user.client, byId)).expect(200);
  const open = [old.membershipId, old.userId, false];
  assert.deepEqual(await shown(team), [open, [byId.membershipId, user.id, true]]);
  (await accept(user.client, now)).refused(404, 'membership_not_found');
  (await accept(user.client, old)).refused(409, 'membership_already_confirmed');
  // Whoever has the address now.
  const again = await invite(target, team, user.email);
  assert.deepEqual([again.membershipId, again.userId], [old.membershipId, old.userId]);
  (await accept(user.client, again)).refused(401, 'team_invite_mismatch');
  const joined = (await accept(guest, again)).expect(200).body;
  assert.notEqual(joined.userId, user.id);
  assert.equal(joined.userEmail, user.email);
  assert.equal((await team.owner.client.get(team.path)).body.total, 3);
  await assertInStep(target);
});

test('a former address that is invited again outlives the account that had it', async () => {
  const team = await aTeam(target);
  const user = await aLoggedInUser(target);
  const old = await invite(target, team, user.email);
  await changeAddress(user);
  const again = await invite(target, team, user.email);
  (await user.client.delete('/account')).expect(204);
  assert.deepEqual(await shown(team), [[old.membershipId, old.userId, false]]);
  (await accept(guest, again)).expect(200);
});

test('if the address passes to a new account, that account joins; invitations by the old id stay with it', async () => {
  for (const pick of ['byId', 'byAddress'] as const) {
    const { user: squatter, team, ...links } = await invitedTwice();
    const phone = aNumber();
    await runSql(target, 'update users set phone = ?, phone_verification = 1 where id = ?', [phone, squatter.id]);
    const joined = (await accept(guest, links[pick])).expect(200).body;
    assert.notEqual(joined.userId, squatter.id);
    const kept = await shown(team);
    assert.deepEqual(kept.at(-1), [links[pick].membershipId, joined.userId, true]);
    const rest = kept.filter(([, , confirm]) => confirm === false);
    // What named the account by its id is still its own.
    assert.deepEqual(rest.length, pick === 'byId' ? 0 : 1);
    if (pick === 'byAddress') (await accept(squatter.client, links.byId)).expect(200);
  }
  await assertInStep(target);
});

test('invitations from before are carried along, there and back', async () => {
  const own = await startAppliance();
  const ownKey = (await aServerKey(own)).client;
  const { runtime } = own.appliance;
  const team = await aTeam(own);
  const [byAddress, byId, member] = [await aLoggedInUser(own), await aLoggedInUser(own), await aLoggedInUser(own)];
  const link = await invite(own, team, byAddress.email, ['a']);
  (await team.owner.client.post(team.memberships, { userId: byId.id, roles: [], url: page })).expect(201);
  const idLink = await linkOf(own, byId.email);
  await addMember(ownKey, team, member.id);
  const rows = async () => (await rowsOf(own, 'memberships')).map((row) => JSON.stringify(row)).sort();
  const [before, schema] = [await rows(), await schemaOf(runtime)];
  while ((await runtime.migrator.down()) !== '0017_invited_addresses');
  await runtime.migrator.up();
  assert.deepEqual([await rows(), await schemaOf(runtime)], [before, schema]);
  assert.equal((await invite(own, team, byAddress.email, ['b'])).membershipId, link.membershipId);
  (await accept(byId.client, idLink)).expect(200);

  // Of one user's two invitations the version before has one, and an address that was invited for two accounts is the later one's.
  (await team.owner.client.post(team.memberships, { userId: byAddress.id, roles: [], url: page })).expect(201);
  const moved = await aLoggedInUser(own);
  const first = await invite(own, team, moved.email);
  await changeAddress(moved);
  const later = await aLoggedInUser(own, { email: moved.email });
  while ((await runtime.migrator.down()) !== '0017_invited_addresses');
  const left = await rowsOf(own, 'memberships');
  assert.equal(left.filter(({ user_id }) => user_id === byAddress.id).length, 1);
  const [template] = left.filter(({ id }) => id === first.membershipId);
  const twin = { ...template, id: 'twin', alias: 'twin-alias', user_id: later.id, invited: '2999-01-01T00:00:00.000Z' };
  await runtime.db.all(insertion(runtime, 'memberships', [twin]));
  await runtime.migrator.up();
  const addresses = (await rowsOf(own, 'memberships')).filter(({ recipient }) => recipient === moved.email);
  assert.deepEqual(Object.fromEntries(addresses.map(({ id, address }) => [id, address])), {
    [first.membershipId]: null,
    twin: moved.email,
  });
});
