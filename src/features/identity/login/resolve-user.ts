import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Claims, Contact } from '../claims/index.js';
import type { Users } from '../users/index.js';

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

/** Finds the user that a secret logs in, and locks it until the unit ends. */
export interface UserResolver {
  /** Locks the user before the secret is redeemed. Every unit that changes both uses this order, which prevents deadlocks. */
  hold(unit: Unit, project: Project, secret: Secret, contact: Contact | undefined): Promise<void>;
  /** The user of a redeemed secret, created if there is none yet; or the reason why there can be none. */
  find(
    unit: Unit,
    project: Project,
    secret: Secret,
    contact: Contact | undefined,
    bearer: Bearer,
  ): Promise<UserRecord | 'address changed' | 'id taken'>;
}

/** Creates the resolver of users. */
export function createUserResolver({ users, claims }: { users: Users; claims: Claims }): UserResolver {
  const holdByContact = (unit: Unit, project: Project, contact: Contact, value: string) =>
    users.lockByContact(unit, project.id, contact, value);
  /** The account with the contact, or a new one. */
  const claim = async (
    unit: Unit,
    project: Project,
    secret: Secret,
    { contact, account, actor, locale }: Bearer & { contact: Contact; account: UserRecord | undefined },
  ): Promise<UserRecord> => {
    const { alias, recipient: value } = secret;
    const newcomer = { id: alias === account?.id ? uniqueId : alias, locale };
    return claims.claim(unit, project, { contact, value, actor, account, newcomer });
  };
  return {
    hold: async (unit, project, secret, contact) => {
      if (secret.userId !== null) await users.lockById(unit, project.id, secret.userId);
      else if (contact !== undefined) await holdByContact(unit, project, contact, secret.recipient);
    },
    find: async (unit, project, secret, contact, bearer) => {
      const { userId, recipient } = secret;
      const account = userId === null ? undefined : await users.lockById(unit, project.id, userId);
      // If the user has changed the address since, another person may read it now.
      const isTheirs = account !== undefined && (contact === undefined || account[contact] === recipient);
      if (userId !== null && !isTheirs) return 'address changed';
      if (contact === undefined) return account ?? 'address changed';
      try {
        return await claim(unit, project, secret, { contact, account, ...bearer });
      } catch (error) {
        if (!(error instanceof Failure && error.type === 'user_already_exists')) throw error;
        // A parallel login or sign-up may have created a user with this address.
        const other = await holdByContact(unit, project, contact, recipient);
        return other === undefined ? 'id taken' : claim(unit, project, secret, { contact, account: other, ...bearer });
      }
    },
  };
}
