import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { secretLife } from '#src/contract/limits.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type Installation, recoveryKey } from '../../installation/index.js';
import type { Claims } from '../claims/index.js';
import { type Issued, type OneTimeSecrets, type Redeemed, redemptionLink } from '../one-time-secrets/index.js';
import { refusalRecord, type UserChanges, type Users } from '../users/index.js';

/** Features that recoveries depend on. */
export interface RecoveryDeps extends Pick<Runtime, 'random'>, Pick<Installation, 'courier' | 'limits'> {
  readonly users: Users;
  readonly claims: Claims;
  readonly userChanges: UserChanges;
  readonly secrets: OneTimeSecrets;
}

/** A presented link with the new password. */
interface Completion {
  readonly userId: string;
  readonly secret: string;
  readonly passwordHash: string;
  readonly ip: string;
  readonly actor: Actor;
}

const purpose = 'recovery';

/**
 * Sends a link to an address. For an unknown address, a link is issued without a user and not sent, and the response contains a random
 * id, so that neither the response nor its time reveals whether the address is known. Server keys may look up users anyway, so they get
 * the real id. Refuses with 429 over quota.
 */
export async function requestRecovery(
  { random, users, secrets, courier, limits }: RecoveryDeps,
  unit: Unit,
  project: Project,
  { email, page, locale, actor }: { email: string; page: URL; locale: string | null; actor: Actor },
): Promise<Issued> {
  const account = await users.lockByContact(unit, project.id, 'email', email);
  await limits.requireSend(unit, 'mail', recoveryKey(email));
  const userId = account?.id ?? null;
  const made = random.id();
  const alias = actor.kind === 'key' ? (userId ?? made) : made;
  const issued = await secrets.issue(unit, project, {
    purpose,
    subject: email,
    userId,
    alias,
    recipient: email,
    form: 'link',
    lifeSeconds: secretLife.recovery,
  });
  const link = redemptionLink(page, project, issued);
  if (account === undefined) return issued;
  const addressee = { to: email, userId, name: account.name, locale: locale ?? account.locale };
  courier.send(unit, project, { message: 'recovery', ...addressee, variables: { link } });
  return issued;
}

/** Redeems a link and sets the password. Refuses invalid links. */
export async function completeRecovery(
  { users, claims, userChanges, secrets }: RecoveryDeps,
  unit: Unit,
  project: Project,
  { userId, secret, passwordHash, ip, actor }: Completion,
): Promise<Redeemed & { readonly userId: string }> {
  const account = await users.lockById(unit, project.id, userId);
  const redeemed = await secrets.redeem(unit, project, { purposes: [purpose], userId, secret });
  if (redeemed === undefined || account === undefined || account.email !== redeemed.recipient)
    throw refuseRecovery(unit, userId, ip);
  if (!account.status) throw new Failure('user_blocked');
  const { alias, recipient: value } = redeemed;
  const newcomer = { id: alias === account.id ? uniqueId : alias, name: '', locale: account.locale };
  const owner = await claims.claim(unit, project, { contact: 'email', value, actor, account, newcomer });
  // The hash was sealed for the account that had the address, which may not be the owner's.
  const hash = users.rebindHash(project, passwordHash, account, owner);
  await userChanges.changePassword(unit, project, owner, hash);
  return { ...redeemed, userId: owner.id };
}

/** Records the use of an invalid link and throws. */
export function refuseRecovery(unit: Unit, userId: string | undefined, ip: string): never {
  unit.record('proofFailed', refusalRecord(userId, { purpose, ip }));
  throw unit.refuse('user_invalid_token');
}
