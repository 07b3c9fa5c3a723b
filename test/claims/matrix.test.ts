// The first proof of a contact by a login, a recovery or an invitation: whose the account is afterwards, and who can still enter it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { lastMessageTo, messagesTo } from '../harness/messages.js';
import { aContact, askAndRead, redeemPath, sentLogins, withSms } from '../logins/setup.js';
import { recoveryProof } from '../proofs/proofs.js';
import { accept, aTeam, invite } from '../teams/setup.js';
import { aSquat, assertConfirmed, assertReleased, assertTaken, holderOf, type Other, type Squat } from './squatters.js';

const target = await startAppliance({ settings: withSms });
const guest = createClient(target);
const { client: key } = await aServerKey(target);
const password = 'the password of the owner';

/** Brings a proof as somebody; `otp` is for who is asked for a second factor. */
type Prove = (client: Client, otp?: string) => Promise<Answer>;

interface Path {
  readonly name: string;
  readonly contact: 'email' | 'phone';
  /** What the prover gets: a session or a new password. */
  readonly gives: 'a session' | 'a password';
  /** Takes what proves the contact from the message. */
  readonly prepare: (squat: Squat) => Promise<Prove>;
}

const paths: readonly Path[] = [
  ...sentLogins.map(
    (way): Path => ({
      ...{ name: way.name, contact: way.channel, gives: 'a session' },
      prepare: async ({ value }) => {
        const given = await askAndRead(target, way, value);
        return (client, otp) => client.post(redeemPath, { ...given, otp });
      },
    }),
  ),
  {
    ...{ name: 'recovery', contact: 'email', gives: 'a password' },
    prepare: async ({ value }) => {
      const proof = await recoveryProof(target, { email: value });
      return (client) => client.put('/account/recovery', { ...proof, password });
    },
  },
  {
    ...{ name: 'invitation', contact: 'email', gives: 'a session' },
    prepare: async ({ value }) => {
      const link = await invite(target, await aTeam(target), value);
      return (client, otp) =>
        client.patch(`/teams/${link.teamId}/memberships/${link.membershipId}/status`, {
          ...{ userId: link.userId, secret: link.secret, otp },
        });
    },
  },
];

/** Callers without a session of the account. */
const strangers: readonly [string, () => Promise<Client>][] = [
  ['a guest', async () => guest],
  ['a server key', async () => key],
  ['somebody else', async () => (await aLoggedInUser(target)).client],
];
const others: Readonly<Record<'email' | 'phone', readonly Other[]>> = {
  email: ['nothing', 'an unproved one', 'a proved one'],
  phone: ['nothing', 'an unproved one', 'a proved one'],
};
/** A number on an account with an email address is never a way to take it, proved or not. */
const falls = (contact: 'email' | 'phone', other: Other) =>
  contact === 'phone' ? other !== 'nothing' : other === 'a proved one';
const templatesTo = async (to: string) => (await messagesTo(target, to)).map(({ template }) => template);

/** The account that the prover has got into. */
async function entered(path: Path, squat: Squat, answer: Answer): Promise<unknown> {
  if (path.gives === 'a password') {
    answer.expect(200);
    const login = { email: squat.value, password };
    const opened = (await guest.post('/account/sessions/email', login)).expect(201);
    assert.equal(answer.string('userId'), opened.string('userId'));
    return opened.body.userId;
  }
  if (path.name === 'invitation') {
    const { userId, confirm, userEmail } = answer.expect(200).body;
    assert.deepEqual([confirm, userEmail], [true, squat.value]);
    return userId;
  }
  return answer.expect(201).body.userId;
}

for (const path of paths) {
  for (const other of others[path.contact]) {
    const outcome = falls(path.contact, other) ? 'the claim falls' : 'the prover takes the account';
    for (const [caller, clientOf] of strangers) {
      // Who is logged in as somebody else accepts nobody else's invitation.
      if (path.name === 'invitation' && caller === 'somebody else') continue;
      test(`${path.name} by ${caller}, the other contact is ${other}: ${outcome}`, async () => {
        const squat = await aSquat(target, path.contact, other);
        const answer = await (await path.prepare(squat))(await clientOf());
        if (falls(path.contact, other)) {
          await assertReleased(target, squat);
          const told = path.contact === 'email' ? 'email-removed' : 'phone-removed';
          assert.equal((await lastMessageTo(target, squat.other)).template, told);
          const holder = await holderOf(target, squat);
          assert.notEqual(holder?.id, squat.id);
          assert.equal(Number(holder?.[`${path.contact}_verification`]), 1);
          assert.equal(await entered(path, squat, answer), holder?.id);
          return;
        }
        assert.equal(await entered(path, squat, answer), squat.id);
        await assertTaken(target, squat);
        const told = path.contact === 'email' ? 'account-claimed' : 'phone-claimed';
        assert.ok((await templatesTo(squat.value)).includes(told));
      });
    }
    test(`${path.name} by the account's logged-in user, the other contact is ${other}: it is confirmed`, async () => {
      const squat = await aSquat(target, path.contact, other);
      const prove = await path.prepare(squat);
      (await prove(squat.client, squat.app.nextCode())).expect(
        path.gives === 'a session' && path.name !== 'invitation' ? 201 : 200,
      );
      await assertConfirmed(target, squat);
      const kept = path.gives === 'a password' ? 401 : 200;
      assert.equal((await squat.sessions[1]?.get('/account'))?.status, kept);
      for (const template of ['account-claimed', 'phone-claimed'])
        assert.ok(!(await templatesTo(squat.value)).includes(template));
    });
  }

  test(`${path.name}: a contact set by a server key is only marked as verified`, async () => {
    const squat = await aSquat(target, path.contact, 'an unproved one');
    const change = path.contact === 'email' ? { email: squat.value } : { number: squat.value };
    const same = path.contact === 'email' ? { email: `x${squat.value}` } : { number: '+14155559999' };
    await runSql(target, `update users set ${path.contact}_verification = 1 where id = ?`, [squat.id]);
    for (const body of [same, change]) (await key.patch(`/users/${squat.id}/${path.contact}`, body)).expect(200);
    const prove = await path.prepare(squat);
    const answer = await prove(guest, squat.app.nextCode());
    assert.ok(answer.status < 300, answer.text);
    await assertConfirmed(target, squat);
    if (path.gives !== 'a password') (await squat.client.get('/account')).expect(200);
  });
}

test('a JWT made by a server key ends with a takeover, even if the account had no password', async () => {
  const phone = aContact('phone');
  const { secret: session } = (await guest.post('/account/sessions/anonymous', {})).expect(201).body;
  const stranger = createClient(target, { session: String(session) });
  const { $id: userId } = (await stranger.patch('/account/phone', { phone, password: '' })).expect(200).body;
  const { jwt } = (await key.post(`/users/${userId}/jwts`, {})).expect(201).body;
  const byJwt = createClient(target, { jwt: String(jwt) });
  (await byJwt.get('/account')).expect(200);
  const { secret } = (await key.post('/account/tokens/phone', { userId: 'unique()', phone })).expect(201).body;
  (await guest.post(redeemPath, { userId, secret })).expect(201);
  (await byJwt.get('/account')).refused(401, 'user_jwt_invalid');
});

test('logging in to an account for the first time sends no notification mail', async () => {
  const team = await aTeam(target);
  const link = await invite(target, team, 'never.entered@mail.example');
  (await accept(guest, link)).expect(200);
  assert.deepEqual(await templatesTo('never.entered@mail.example'), ['invitation']);
});
