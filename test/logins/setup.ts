// What the tests of the ways in share: the three that send a secret, and how their messages are read.
import type { TestAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';
import { lastMessageTo } from '../harness/messages.js';

/** Settings under which codes go out by SMS too. */
export const withSms = { SVC_SMS_URL: 'https://user:pass@sms.example/send' };

/** A way in by a secret that is sent. */
export interface SentLogin {
  readonly name: 'magic link' | 'email code' | 'phone code';
  readonly purpose: string;
  readonly path: string;
  readonly template: string;
  readonly channel: 'email' | 'phone';
  readonly provider: string;
  /** Seconds. */
  readonly life: number;
}

/** All of them. */
export const sentLogins: readonly SentLogin[] = [
  {
    ...{ name: 'magic link', purpose: 'magic-link', path: '/account/tokens/magic-url', template: 'magic-link' },
    ...{ channel: 'email', provider: 'magic-url', life: 3600 },
  },
  {
    ...{ name: 'email code', purpose: 'email-code', path: '/account/tokens/email', template: 'email-code' },
    ...{ channel: 'email', provider: 'token', life: 600 },
  },
  {
    ...{ name: 'phone code', purpose: 'phone-code', path: '/account/tokens/phone', template: 'phone-code' },
    ...{ channel: 'phone', provider: 'phone', life: 600 },
  },
];

/** Where a secret is redeemed. */
export const redeemPath = '/account/sessions/token';

let contacts = 0;
/** An address or a number that nobody used yet. */
export function aContact(channel: 'email' | 'phone'): string {
  contacts += 1;
  return channel === 'email' ? `somebody${contacts}@mail.example` : `+1415555${String(1000 + contacts)}`;
}

/** Asks for a secret. */
export function ask(client: Client, way: SentLogin, contact: string, given: object = {}): Promise<Answer> {
  return client.post(way.path, { userId: 'unique()', [way.channel]: contact, ...given });
}

/** The secret in the newest message to an address. */
export async function secretFor(target: TestAppliance, contact: string, project = target.project): Promise<string> {
  const { locals } = await lastMessageTo(target, contact, project);
  return locals.code ?? new URL(locals.link ?? '').searchParams.get('secret') ?? '';
}

/** Another secret of the same form. */
export function wrongSecret(secret: string): string {
  const first = secret.startsWith('1') ? '2' : '1';
  return first + secret.slice(1);
}

/** Asks, reads the message, and returns what logs in. */
export async function askAndRead(
  target: TestAppliance,
  way: SentLogin,
  contact: string,
  given: object = {},
): Promise<{ userId: string; secret: string }> {
  const answer = (await ask(createClient(target), way, contact, given)).expect(201);
  return { userId: answer.string('userId'), secret: await secretFor(target, contact) };
}
