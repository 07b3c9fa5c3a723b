import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import { addressBelow } from '#src/contract/web-address.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Installation } from '../../installation/index.js';
import type { Claims } from '../claims/index.js';
import { type Issued, type OneTimeSecrets, redemptionLink } from '../one-time-secrets/index.js';
import { refusalRecord, type Users } from '../users/index.js';

/** Features that verifications depend on. */
export interface VerificationDeps extends Pick<Runtime, 'config'>, Pick<Installation, 'courier' | 'limits'> {
  readonly users: Users;
  readonly claims: Claims;
  readonly secrets: OneTimeSecrets;
}

/** A link or code presented by a client. */
export interface Presented {
  readonly userId: string;
  readonly secret: string;
  readonly ip: string;
}

type Confirmed = 'email-verification' | 'phone-verification';

/** Sends two links to the user's email address: one verifies it, the other removes it from the account. Refuses with 429 over quota. */
export async function requestEmail(
  deps: VerificationDeps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  { page, locale }: { readonly page: URL; readonly locale: string | null },
): Promise<Issued> {
  const { config, secrets, courier, limits } = deps;
  const { id: userId, email, name } = account;
  if (email === null) throw new Failure('user_email_not_found');
  if (account.emailVerification) throw new Failure('user_email_already_verified');
  await limits.requireSend(unit, 'mail', email);
  const link = {
    subject: userId,
    userId,
    recipient: email,
    form: 'link',
    lifeSeconds: secretLife.verification,
  } as const;
  const issued = await secrets.issue(unit, project, { purpose: 'email-verification', ...link });
  const removal = await secrets.issue(unit, project, { purpose: 'email-removal', ...link });
  const addressee = { to: email, userId, name, locale: locale ?? account.locale };
  // A page of the service, because applications need no page for people outside their user base.
  const removalPage = addressBelow(config.baseUrl, 'auth/remove-address');
  const variables = {
    link: redemptionLink(page, project, issued),
    remove: redemptionLink(removalPage, project, removal),
    account: email,
    at: account.createdAt,
  };
  courier.send(unit, project, { message: 'email-verification', ...addressee, variables });
  return issued;
}

/** Sends a code to the user's phone number. Refuses with 429 over quota. */
export async function requestPhone(
  { secrets, courier, limits }: VerificationDeps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  locale: string | null,
): Promise<Issued> {
  const { id: userId, phone, name } = account;
  if (phone === null) throw new Failure('user_phone_not_found');
  if (account.phoneVerification) throw new Failure('user_phone_already_verified');
  await limits.requireSend(unit, 'sms', phone);
  const issued = await secrets.issue(unit, project, {
    purpose: 'phone-verification',
    subject: userId,
    userId,
    recipient: phone,
    form: 'code',
    lifeSeconds: secretLife.code,
  });
  const addressee = { to: phone, userId, name, locale: locale ?? account.locale };
  courier.send(unit, project, { message: 'phone-verification', ...addressee, variables: { code: issued.secret } });
  return issued;
}

/** Marks the contact as verified and changes nothing else, because the link may be opened without a session. */
export async function confirmContact(
  deps: VerificationDeps,
  unit: Unit,
  project: Project,
  purpose: Confirmed,
  presented: Presented,
) {
  const { account, redeemed } = await redeem(deps, unit, project, purpose, presented);
  if (!account.status) throw new Failure('user_blocked');
  await deps.users.markVerified(unit, project.id, account, contacts[purpose]);
  return redeemed;
}

/** Removes the address, verified or not, from the account of another person who signed up with it. */
export async function removeEmail(
  deps: VerificationDeps,
  unit: Unit,
  project: Project,
  presented: Presented,
): Promise<void> {
  const { account } = await redeem(deps, unit, project, 'email-removal', presented);
  await deps.claims.release(unit, project, account, 'email');
}

/** The contact that each purpose concerns. */
const contacts = { 'email-verification': 'email', 'email-removal': 'email', 'phone-verification': 'phone' } as const;

/** Redeems a link or a code. Every reason to refuse gives the same error, so callers cannot find out which users exist. */
async function redeem(
  { users, secrets }: VerificationDeps,
  unit: Unit,
  project: Project,
  purpose: keyof typeof contacts,
  { userId, secret, ip }: Presented,
) {
  // Locks the user first, like every unit that changes a user and its secrets; this prevents deadlocks.
  const account = await users.lockById(unit, project.id, userId);
  const redeemed = await secrets.redeem(unit, project, { purposes: [purpose], userId, secret });
  if (redeemed === undefined || account === undefined || account[contacts[purpose]] !== redeemed.recipient) {
    unit.record('proofFailed', refusalRecord(account?.id, { purpose, ip }));
    throw unit.refuse('user_invalid_token');
  }
  return { account, redeemed };
}
