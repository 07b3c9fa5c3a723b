import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Contact } from '../claims/index.js';
import type { LoginDeps } from './method/method.js';

/** The members of a secret that identify its user. */
interface Secret {
  readonly userId: string | null;
  readonly alias: string;
  readonly recipient: string;
}

/** The caller that presents the secret. */
interface Bearer {
  readonly actor: Actor;
  readonly locale: string | null;
}

/** Features that find the user of a secret. */
type Deps = Pick<LoginDeps, 'users' | 'claims'>;

/** Locks the user before the secret is redeemed. Every unit that changes both uses this order, which prevents deadlocks. */
export async function holdUser(
  { users }: Deps,
  unit: Unit,
  project: Project,
  { userId, recipient }: Secret,
  contact: Contact | undefined,
): Promise<void> {
  if (userId !== null) await users.lockById(unit, project.id, userId);
  else if (contact !== undefined) await users.lockByContact(unit, project.id, contact, recipient);
}

/**
 * The user of a redeemed secret, locked until the unit ends, and created if there is none yet; or the reason why there can be none.
 */
export async function resolveUser(
  deps: Deps,
  unit: Unit,
  project: Project,
  secret: Secret,
  contact: Contact | undefined,
  bearer: Bearer,
): Promise<UserRecord | 'address changed' | 'id taken'> {
  const { users } = deps;
  const { userId, recipient } = secret;
  const account = userId === null ? undefined : await users.lockById(unit, project.id, userId);
  // If the user has changed the address since, another person may read it now.
  const isTheirs = account !== undefined && (contact === undefined || account[contact] === recipient);
  if (userId !== null && !isTheirs) return 'address changed';
  if (contact === undefined) return account ?? 'address changed';
  try {
    return await claim(deps, unit, project, secret, { contact, account, ...bearer });
  } catch (error) {
    if (!(error instanceof Failure && error.type === 'user_already_exists')) throw error;
    // A parallel login or sign-up may have created a user with this address.
    const other = await users.lockByContact(unit, project.id, contact, recipient);
    if (other === undefined) return 'id taken';
    return claim(deps, unit, project, secret, { contact, account: other, ...bearer });
  }
}

/** The account with the contact, or a new one. */
function claim(
  { claims }: Deps,
  unit: Unit,
  project: Project,
  { alias, recipient: value }: Secret,
  { contact, account, actor, locale }: Bearer & { contact: Contact; account: UserRecord | undefined },
): Promise<UserRecord> {
  const newcomer = { id: alias === account?.id ? uniqueId : alias, locale };
  return claims.claim(unit, project, { contact, value, actor, account, newcomer });
}
