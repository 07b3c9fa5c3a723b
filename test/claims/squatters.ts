// Accounts that a stranger has made with a contact of somebody else, and everything by which the stranger could come back.
import assert from 'node:assert/strict';
import { aPerson, aServerKey, signUpBody } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { aContact } from '../logins/setup.js';
import { type App, scan } from '../second-factor/people.js';

/** What of the other contact the account has. */
export type Other = 'nothing' | 'an unproved one' | 'a proved one';

/** An account whose contact nobody has proved. */
export interface Squat {
  readonly id: string;
  readonly contact: 'email' | 'phone';
  readonly value: string;
  readonly password: string;
  /** The other contact; empty where there is none. */
  readonly other: string;
  readonly sessions: readonly Client[];
  readonly client: Client;
  /** The secret of the first session. */
  readonly session: string;
  readonly app: App;
  readonly jwt: string;
  /** A secret that a backend has handed over. */
  readonly token: string;
}

/** An account with password, two sessions, authenticator, recovery codes, a JWT and an open secret. */
export async function aSquat(target: TestAppliance, contact: 'email' | 'phone', other: Other): Promise<Squat> {
  const guest = createClient(target);
  const { client: key } = await aServerKey(target);
  const person = aPerson();
  (await guest.post('/account', signUpBody(person))).expect(201);
  const { id, email, password } = person;
  const logIn = async (otp?: string) => {
    const answer = (await guest.post('/account/sessions/email', { email, password, otp })).expect(201);
    return answer.string('secret');
  };
  const session = await logIn();
  const client = createClient(target, { session });
  const phone = aContact('phone');
  (await client.patch('/account/phone', { phone, password })).expect(200);
  const app = scan(target, (await client.post('/account/mfa/totp')).expect(200).string('uri'));
  (await client.put('/account/mfa/totp', { otp: app.code() })).expect(200);
  const second = createClient(target, { session: await logIn(app.nextCode()) });
  const jwt = (await client.post('/account/jwts', {})).expect(201).string('jwt');
  const token = (await key.post(`/users/${id}/tokens`, { length: 64 })).expect(201).string('secret');
  const otherColumn = contact === 'email' ? 'phone' : 'email';
  if (other === 'nothing') await runSql(target, `update users set ${otherColumn} = null where id = ?`, [id]);
  if (other === 'a proved one')
    await runSql(target, `update users set ${otherColumn}_verification = 1 where id = ?`, [id]);
  const value = contact === 'email' ? email : phone;
  const otherValue = other === 'nothing' ? '' : contact === 'email' ? phone : email;
  return {
    id,
    contact,
    value,
    password,
    other: otherValue,
    sessions: [client, second],
    client,
    session,
    app,
    jwt,
    token,
  };
}

/** The user that has the contact; its row. */
export async function holderOf(target: TestAppliance, { contact, value }: Squat) {
  return (await rowsOf(target, 'users', target.project.id)).find((row) => row[contact] === value);
}

async function row(target: TestAppliance, id: string) {
  const found = (await rowsOf(target, 'users', target.project.id)).find((user) => user.id === id);
  assert.ok(found);
  return found;
}
const countOf = async (target: TestAppliance, table: string, id: string) =>
  (await rowsOf(target, table, target.project.id)).filter((one) => one.user_id === id).length;

/** Fails unless nothing of what the stranger left leads in any more, and the contact is proved. */
export async function assertTaken(target: TestAppliance, squat: Squat): Promise<void> {
  const { id, contact, value, password, sessions, jwt, token, other } = squat;
  const guest = createClient(target);
  for (const client of sessions) (await client.get('/account')).refused(401, 'general_unauthorized_scope');
  (await createClient(target, { jwt }).get('/account')).refused(401, 'user_jwt_invalid');
  (await guest.post('/account/sessions/token', { userId: id, secret: token })).refused(401, 'user_invalid_token');
  const email = contact === 'email' ? value : other;
  if (email !== '')
    (await guest.post('/account/sessions/email', { email, password })).refused(401, 'user_invalid_credentials');
  const user = await row(target, id);
  const otherColumn = contact === 'email' ? 'phone' : 'email';
  assert.deepEqual(
    [user[contact], Number(user[`${contact}_verification`]), user[otherColumn], Number(user.mfa)],
    [value, 1, null, 0],
  );
  for (const table of ['authenticators', 'recovery_codes'])
    assert.equal(await countOf(target, table, id), 0, `${table} of ${id}`);
}

/** Fails unless the account has everything but the contact. */
export async function assertReleased(target: TestAppliance, squat: Squat): Promise<void> {
  const { id, contact, jwt, sessions, other } = squat;
  for (const client of sessions) (await client.get('/account')).expect(200);
  (await createClient(target, { jwt }).get('/account')).expect(200);
  const user = await row(target, id);
  const otherColumn = contact === 'email' ? 'phone' : 'email';
  assert.deepEqual([user[contact], user[otherColumn], Number(user.mfa)], [null, other, 1]);
  assert.notEqual(user.password_hash, null);
  assert.equal(await countOf(target, 'authenticators', id), 1);
  assert.equal(await countOf(target, 'recovery_codes', id), 10);
}

/** Fails unless the account has everything it had, and the contact proved. */
export async function assertConfirmed(target: TestAppliance, squat: Squat): Promise<void> {
  const { id, contact, value, other } = squat;
  const user = await row(target, id);
  const otherColumn = contact === 'email' ? 'phone' : 'email';
  assert.deepEqual(
    [user[contact], Number(user[`${contact}_verification`]), user[otherColumn] ?? '', Number(user.mfa)],
    [value, 1, other, 1],
  );
  assert.notEqual(user.password_hash, null);
  assert.equal(await countOf(target, 'authenticators', id), 1);
  assert.equal(await countOf(target, 'recovery_codes', id), 10);
}
