import type { Actor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Claims, Contact } from '../claims/index.js';
import type { Users } from '../users/index.js';

/** What of a secret tells whose it is. */
interface Secret {
  readonly userId: string | null;
  readonly alias: string;
  readonly recipient: string;
}

/** Who brings it. */
interface Bearer {
  readonly actor: Actor;
  readonly locale: string | null;
}

/** Finds whose login a secret is; nobody else changes the user until the unit ends. */
export function createUserResolver({ users, claims }: { users: Users; claims: Claims }) {
  const holdByContact = (unit: Unit, project: Project, contact: Contact, value: string) =>
    users.lockByContact(unit, project.id, contact, value);
  /** The account that holds the contact, or a new one. */
  const claim = async (
    unit: Unit,
    project: Project,
    secret: Secret,
    { contact, account, actor, locale }: Bearer & { contact: Contact; account: UserRecord | undefined },
  ): Promise<UserRecord> => {
    const { alias, recipient: value } = secret;
    const newcomer = { id: alias === account?.id ? uniqueId : alias, locale };
    const claimed = await claims.claim(unit, project, { contact, value, actor, account, newcomer });
    if (claimed === undefined) throw new TypeError('a claim that may make an account returns one');
    return claimed;
  };
  return {
    /** Holds the user before the secret is redeemed, as every unit does that changes both: otherwise two could wait for each other. */
    hold: async (unit: Unit, project: Project, secret: Secret, contact: Contact | undefined): Promise<void> => {
      if (secret.userId !== null) await users.lockById(unit, project.id, secret.userId);
      else if (contact !== undefined) await holdByContact(unit, project, contact, secret.recipient);
    },
    /** The user of a redeemed secret, who is made where there is none yet; or why there can be none. */
    find: async (
      unit: Unit,
      project: Project,
      secret: Secret,
      contact: Contact | undefined,
      bearer: Bearer,
    ): Promise<UserRecord | 'address changed' | 'id taken'> => {
      const { userId, recipient } = secret;
      const account = userId === null ? undefined : await users.lockById(unit, project.id, userId);
      // An address that the user has given up meanwhile may have another reader.
      const isTheirs = account !== undefined && (contact === undefined || account[contact] === recipient);
      if (userId !== null && !isTheirs) return 'address changed';
      if (contact === undefined) return account ?? 'address changed';
      try {
        return await claim(unit, project, secret, { contact, account, ...bearer });
      } catch (error) {
        if (!(error instanceof Failure && error.type === 'user_already_exists')) throw error;
        // A parallel login, or a sign-up, may just have made a user of this address.
        const other = await holdByContact(unit, project, contact, recipient);
        return other === undefined ? 'id taken' : claim(unit, project, secret, { contact, account: other, ...bearer });
      }
    },
  };
}
