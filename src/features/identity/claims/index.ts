import type { Actor } from '#src/contract/actor.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import { type ClaimDeps, type Contact, releaseContact, takeOver } from './effects.js';

export type { Contact } from './effects.js';

/** A proof that a person holds an address or a number. */
interface Proof {
  readonly contact: Contact;
  readonly value: string;
  /** The caller that presents the proof: a session of the account distinguishes its owner from a stranger. */
  readonly actor: Actor;
  /** The account with the contact if the proof is bound to one, current and locked by the unit. Looked up if absent. */
  readonly account?: UserRecord | undefined;
  /** The account to create for the prover if no account has the contact, or the account loses it. */
  readonly newcomer: { readonly id: string; readonly name?: string; readonly locale: string | null };
}

/** The claims service. */
export interface Claims {
  /**
   * The account that the prover may log in to, with the contact verified. A blocked account is returned unchanged; the caller must refuse
   * it. Throws Failure `user_already_exists` if the id for a new account is taken or the contact was taken concurrently.
   */
  claim(unit: Unit, project: Project, proof: Proof): Promise<UserRecord>;
  /**
   * `claim` for callers that may still refuse the prover because a second factor is missing. If the owner stays the same, the account is
   * not changed; the caller marks the contact as verified once nothing can be refused any more.
   */
  resolveOwner(unit: Unit, project: Project, proof: Proof): Promise<UserRecord>;
  /** Removes a contact from an account at the request of the contact's holder; the account keeps the rest. */
  release(unit: Unit, project: Project, account: UserRecord, contact: Contact): Promise<void>;
}

/**
 * Decides on the owner of an account after a login, a recovery or an invitation has proved a contact. Verifications only mark the contact
 * as verified and do not come here: people open verification links on devices without a session.
 *
 * An unverified contact of an account is only a claim, possibly by a stranger. If a person without a session of the account proves the
 * contact, there are two outcomes: either the account loses the contact and keeps the rest, or the prover takes over the account and every
 * other way to log in to it is removed.
 */
export function createClaims(deps: ClaimDeps): Claims {
  const { users, otherWaysIn } = deps;

  /** True if the account has another verified login; then proving this contact does not transfer it. */
  const standsWithout = async (
    unit: Unit,
    project: Project,
    account: UserRecord,
    contact: Contact,
  ): Promise<boolean> => {
    if (contact === 'phone' && account.email !== null) return true;
    const other = contact === 'email' ? 'phone' : 'email';
    if (account[other] !== null && (account[`${other}Verification`] || account[`${other}Vouched`])) return true;
    for (const leadsIn of otherWaysIn) if (await leadsIn(unit, project, account)) return true;
    return false;
  };
  /** The account if the prover may log in to it; undefined if the account has lost the contact. */
  const decideOwner = async (unit: Unit, project: Project, account: UserRecord, { contact, actor }: Proof) => {
    const isOwner = actor.kind === 'user' && actor.id === account.id;
    if (isOwner || account[`${contact}Verification`] || account[`${contact}Vouched`]) return account;
    if (!(await standsWithout(unit, project, account, contact))) return takeOver(deps, unit, project, account, contact);
    await releaseContact(deps, unit, project, account, contact);
    return undefined;
  };
  const create = async (unit: Unit, project: Project, { contact, value, newcomer }: Proof) => {
    const { id, name = '', locale } = newcomer;
    const input = { id, name, locale, passwordHash: null, email: null, phone: null, [contact]: value };
    return users.markVerified(unit, project.id, await users.create(unit, project.id, input), contact);
  };

  const resolveOwner = async (unit: Unit, project: Project, proof: Proof): Promise<UserRecord> => {
    const { contact, value } = proof;
    const claimant = proof.account ?? (await users.lockByContact(unit, project.id, contact, value));
    if (claimant === undefined) return create(unit, project, proof);
    if (!claimant.status) return claimant;
    return (await decideOwner(unit, project, claimant, proof)) ?? (await create(unit, project, proof));
  };

  return {
    claim: async (unit, project, proof) => {
      const account = await resolveOwner(unit, project, proof);
      return account.status ? users.markVerified(unit, project.id, account, proof.contact) : account;
    },
    resolveOwner,
    release: (unit, project, account, contact) => releaseContact(deps, unit, project, account, contact),
  };
}
