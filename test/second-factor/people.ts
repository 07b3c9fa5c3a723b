// People with a second factor, and the apps and mailboxes that hold it.
import { TOTP, URI } from 'otpauth';
import { aLoggedInUser, type LoggedInUser } from '../harness/actors.js';
import type { TestAppliance } from '../harness/appliance.js';
import { type Answer, type Client, createClient } from '../harness/client.js';
import { rowsOf, runSql } from '../harness/database.js';
import { messagesTo } from '../harness/messages.js';
import { vouchFor } from '../proofs/proofs.js';

/** An authenticator app: another implementation of RFC 6238 than the server's. */
export type App = {
  /** The code that the app shows now, or so many steps later. */
  code(steps?: number): string;
  /** Waits for the next step and reads the code: one that was never sent before. */
  nextCode(): string;
};

/** Somebody who has an authenticator app, recovery codes, and the second factor on. */
export type Guarded = LoggedInUser & { readonly app: App; readonly recoveryCodes: readonly string[] };

const stepMs = 30_000;

/** Scans a provisioning URI. */
export function scan({ clock }: TestAppliance, uri: string): App {
  const totp = URI.parse(uri);
  if (!(totp instanceof TOTP)) throw new Error(`${uri} is not of an authenticator app`);
  const code = (steps = 0) => totp.generate({ timestamp: clock.now() + steps * stepMs });
  return {
    code,
    nextCode: () => {
      clock.advance(stepMs);
      return code();
    },
  };
}

/** Enrols an app by the seed's two calls; the address counts as set by the application, so that proving it leaves the app where it is. */
export async function aGuardedUser(target: TestAppliance): Promise<Guarded> {
  const user = await aLoggedInUser(target);
  const app = scan(target, (await user.client.post('/account/mfa/totp')).expect(200).string('uri'));
  await vouchFor(target, user.id);
  const confirmed = (await user.client.put('/account/mfa/totp', { otp: app.code() })).expect(200);
  return { ...user, app, recoveryCodes: confirmed.body.recoveryCodes as string[] };
}

/** Makes an address or a number of a user verified, without the message that would do it. */
export async function verify(target: TestAppliance, userId: string, channel: 'email' | 'phone'): Promise<void> {
  if (channel === 'phone') {
    const number = `+1415555${String(1000 + (await rowsOf(target, 'users')).length)}`;
    await runSql(target, 'update users set phone = ?, phone_verification = 1 where id = ?', [number, userId]);
  } else await runSql(target, 'update users set email_verification = 1 where id = ?', [userId]);
}

/** Logs in by the password alone; the answer refuses it. */
export async function halfLogin(target: TestAppliance, { email, password }: LoggedInUser): Promise<Answer> {
  const answer = await createClient(target).post('/account/sessions/email', { email, password });
  return answer.refused(401, 'user_more_factors_required');
}

/** A caller whose login lacks the second factor. */
export async function aPendingClient(target: TestAppliance, user: LoggedInUser): Promise<Client> {
  return createClient(target, { session: pendingOf(await halfLogin(target, user)).secret });
}

/** What a refused login hands out. */
export function pendingOf({ body }: Answer): { userId: string; secret: string; expire: string } {
  return body.pendingSession as { userId: string; secret: string; expire: string };
}

/** The code of the last message to a user. */
export async function lastCode(target: TestAppliance, userId: string): Promise<string> {
  return (await messagesTo(target, userId)).at(-1)?.locals.code ?? '';
}
