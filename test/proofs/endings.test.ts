// What a change of a user ends: sessions, and codes and links that were open before it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoggedInUser } from '../harness/actors.js';
import { logIn } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { insertion, runSql } from '../harness/database.js';
import { asOperator } from '../harness/project.js';
import { aNumber, aUserWithPhone, emailProof, type Proof, phoneProof, recoveryProof } from './proofs.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:pass@sms.example/send' } });
const guest = createClient(target);
const password = 'the new password';

type Person = LoggedInUser & { readonly phone: string };
const purposes = [
  ...['magic-link', 'email-code', 'email-verification', 'recovery', 'email-challenge'],
  ...['phone-code', 'phone-verification', 'phone-challenge', 'server-token'],
];
const byMail = purposes.slice(0, 5);
const byPhone = purposes.slice(5, 8);
const not = (those: readonly string[]) => purposes.filter((purpose) => !those.includes(purpose));

/** One open secret of every purpose, as each way in leaves them; whether they are redeemed well is tested with those ways. */
async function openEverything(user: Person): Promise<void> {
  const { runtime } = target.appliance;
  const far = new Date(target.clock.now() + 3_600_000).toISOString();
  for (const purpose of purposes) {
    const recipient = byMail.includes(purpose) ? user.email : byPhone.includes(purpose) ? user.phone : '';
    const row = { project_id: target.project.id, purpose, subject: user.id, id: runtime.random.id() };
    const rest = { user_id: user.id, alias: user.id, recipient, digest: 'x', length: 43, expire: far, created_at: far };
    await runtime.db.all(insertion(runtime, 'one_time_secrets', [{ ...row, ...rest }]));
  }
}
async function openOf({ id }: Person): Promise<string[]> {
  const rows = await runSql(target, 'select purpose from one_time_secrets where user_id = ? and used_at is null', [id]);
  return rows.map(({ purpose }) => String(purpose)).sort();
}

const recover = async (user: Person) => {
  (await guest.put('/account/recovery', { ...(await recoveryProof(target, user)), password })).expect(200);
};
const changePassword = async ({ client, password: oldPassword }: Person) => {
  (await client.patch('/account/password', { password, oldPassword })).expect(200);
};
const changeEmail = async ({ client, email, password: proof }: Person) => {
  (await client.patch('/account/email', { email: `x${email}`, password: proof })).expect(200);
};
const changePhone = async ({ client, password: proof }: Person) => {
  (await client.patch('/account/phone', { phone: aNumber(), password: proof })).expect(200);
};
const blockSelf = async ({ client }: Person) => {
  (await client.patch('/account/status')).expect(200);
};
const blockByOperator = async ({ id }: Person) => {
  await asOperator(target, id, 'block');
};
const rename = async ({ client }: Person) => {
  (await client.patch('/account/name', { name: 'Ada' })).expect(200);
};
const remove = async ({ client }: Person) => {
  (await client.delete('/account')).expect(204);
};

/** [change, what stays open, what the session that made it is answered then, what another one is answered] */
const table: [string, (user: Person) => Promise<void>, readonly string[], number, number][] = [
  ['another password', changePassword, [], 200, 401],
  ['a recovery', recover, [], 401, 401],
  ['another email address', changeEmail, not(byMail), 200, 200],
  ['another phone number', changePhone, not(byPhone), 200, 200],
  ['a block by the user', blockSelf, [], 403, 403],
  ['a block by an operator', blockByOperator, [], 403, 403],
  ['deletion', remove, [], 401, 401],
  ['another name', rename, purposes, 200, 200],
];
for (const [name, act, open, own, others] of table) {
  test(`${name} leaves ${open.length} of ${purposes.length} kinds of secrets open; sessions: ${own}, others ${others}`, async () => {
    const user = await aUserWithPhone(target);
    const bystander = await aUserWithPhone(target);
    const other = await logIn(target, user);
    for (const one of [user, bystander]) await openEverything(one);
    await act(user);
    assert.deepEqual(await openOf(user), [...open].sort());
    assert.deepEqual(await openOf(bystander), [...purposes].sort());
    assert.equal((await user.client.get('/account')).status, own);
    assert.equal((await other.client.get('/account')).status, others);
    assert.equal((await bystander.client.get('/account')).status, 200);
  });
}

/** [change, which proofs taken before it still count: of the address, of the number, recovery] */
const proofs: [string, (user: Person) => Promise<void>, boolean, boolean, boolean][] = [
  ['another password', changePassword, false, false, false],
  ['another email address', changeEmail, false, true, false],
  ['another phone number', changePhone, true, false, true],
  ['another name', rename, true, true, true],
];
for (const [name, act, ...counts] of proofs) {
  test(`of the proofs from before ${name}, address, number and recovery count: ${counts.join(', ')}`, async () => {
    const user = await aUserWithPhone(target);
    const taken: [string, Proof][] = [
      ['/account/verifications/email', await emailProof(target, user)],
      ['/account/verifications/phone', await phoneProof(target, user)],
      ['/account/recovery', await recoveryProof(target, user)],
    ];
    await act(user);
    for (const [index, [path, proof]] of taken.entries()) {
      const { status } = await guest.put(path, { ...proof, password: 'the last password' });
      assert.equal(status, counts[index] ? 200 : 401, path);
    }
  });
}

test('a pending sign-up of an address goes with the address', async () => {
  const user = await aUserWithPhone(target);
  const { runtime } = target.appliance;
  const far = new Date(target.clock.now() + 3_600_000).toISOString();
  const row = { project_id: target.project.id, purpose: 'email-code', subject: user.email, id: runtime.random.id() };
  const rest = { user_id: null, alias: 'nobody-yet', recipient: user.email, digest: 'x', length: 6, tries_left: 5 };
  const secret = { ...row, ...rest, expire: far, created_at: far };
  await runtime.db.all(insertion(runtime, 'one_time_secrets', [secret]));
  await changeEmail(user);
  assert.deepEqual(await runSql(target, 'select id from one_time_secrets where id = ?', [row.id]), []);
});
