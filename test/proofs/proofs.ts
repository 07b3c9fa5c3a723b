// What the tests of verification and recovery have in common: people with links and codes in their hands.
import assert from 'node:assert/strict';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';

/** A page of the test's application. */
export const page = 'http://localhost:3000/proof?lang=de';

/** What a user types or follows. */
export interface Proof {
  readonly userId: string;
  readonly secret: string;
}

let numbers = 0;

/** A phone number that nobody used yet. */
export function aNumber(): string {
  numbers += 1;
  return `+1415555${String(numbers).padStart(4, '0')}`;
}

/** Lets the address and the number of a user count as set by the application: then proving them touches nothing else. */
export async function vouchFor(target: TestAppliance, userId: string): Promise<void> {
  await runSql(target, 'update users set email_vouched = 1, phone_vouched = 1 where id = ?', [userId]);
}

/** Somebody with a phone number and a session, whose contacts the application has set. */
export async function aUserWithPhone(target: TestAppliance): Promise<LoggedInUser & { readonly phone: string }> {
  const user = await aLoggedInUser(target);
  const phone = aNumber();
  (await user.client.patch('/account/phone', { phone, password: user.password })).expect(200);
  await vouchFor(target, user.id);
  return { ...user, phone };
}

/** The newest message of a template to an address. */
export async function lastMessage(target: TestAppliance, address: string, template: string) {
  const message = (await messagesTo(target, address)).findLast((one) => one.template === template);
  assert.ok(message, `${template} to ${address}`);
  return message;
}

/** Asks for a verification mail and takes its second link. */
export async function removalLink(target: TestAppliance, user: Pick<LoggedInUser, 'client' | 'email'>): Promise<URL> {
  (await user.client.post('/account/verifications/email', { url: page })).expect(201);
  return new URL(String((await lastMessage(target, user.email, 'email-verification')).locals.remove));
}

/** The proof that the second link carries. */
export async function removalProof(
  target: TestAppliance,
  user: Pick<LoggedInUser, 'client' | 'email'>,
): Promise<Proof> {
  const { userId = '', secret = '' } = Object.fromEntries((await removalLink(target, user)).searchParams);
  return { userId, secret };
}

/** What the link of the newest such mail says. */
export async function linkOf(target: TestAppliance, address: string, template: string): Promise<URL> {
  return new URL(String((await lastMessage(target, address, template)).locals.link));
}

/** The proof that such a link carries. */
export async function proofOf(target: TestAppliance, address: string, template: string): Promise<Proof> {
  const { searchParams } = await linkOf(target, address, template);
  return { userId: searchParams.get('userId') ?? '', secret: searchParams.get('secret') ?? '' };
}

/** Asks for a link that verifies the address, and takes it from the mail. */
export async function emailProof(target: TestAppliance, user: LoggedInUser): Promise<Proof> {
  (await user.client.post('/account/verifications/email', { url: page })).expect(201);
  return proofOf(target, user.email, 'email-verification');
}

/** Asks for a code that verifies the number, and takes it from the SMS. */
export async function phoneProof(
  target: TestAppliance,
  user: LoggedInUser & { readonly phone: string },
): Promise<Proof> {
  (await user.client.post('/account/verifications/phone')).expect(201);
  const { locals } = await lastMessage(target, user.phone, 'phone-verification');
  return { userId: user.id, secret: String(locals.code) };
}

/** Asks for a link that recovers the account, and takes it from the mail. */
export async function recoveryProof(target: TestAppliance, { email }: { readonly email: string }): Promise<Proof> {
  (await createClient(target).post('/account/recovery', { email, url: page })).expect(201);
  return proofOf(target, email, 'recovery');
}

/** Whether the address, or the number, of a user counts as verified. */
export async function isVerified(target: TestAppliance, userId: string, what: 'email' | 'phone'): Promise<boolean> {
  const [row] = await runSql(target, `select ${what}_verification as it from users where project_id = ? and id = ?`, [
    target.project.id,
    userId,
  ]);
  return Number(row?.it) === 1;
}

/** Another guess of the same form. */
export function wrong(secret: string): string {
  if (!/^\d+$/.test(secret)) return `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`;
  return String((Number(secret) + 1) % 1_000_000).padStart(6, '0');
}
