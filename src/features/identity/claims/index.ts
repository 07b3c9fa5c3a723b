import type { Actor } from '#src/contract/actor.js';
import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { ClaimDeps, Contact } from './deps.js';
import { createReleases } from './release.js';
import { createTakeovers } from './takeover.js';

export type { Contact } from './deps.js';

/** Somebody who has just shown to hold an address or a number. */
interface Proof {
  readonly contact: Contact;
  readonly value: string;
  /** Whose request brings the proof: a session of the account tells its owner from a stranger. */
  readonly actor: Actor;
  /** The account that has the contact, where the proof is bound to one: as it is now, and held by the unit. Looked up where absent. */
  readonly account?: UserRecord | undefined;
  /** How an account of the prover's own is made where there is none; null where the proof opens no account. */
  readonly newcomer: { readonly id: string; readonly name?: string; readonly locale: string | null } | null;
}

/**
 * The one place where a contact becomes proved, whatever way proved it: a link, a code, a recovery, an invitation, an identity provider.
 *
 * A contact that a user has set and nobody has proved is a claim, maybe a stranger's. When somebody proves the contact who holds no session of
 * the account, then either the claim falls and the account keeps the rest, or the prover takes the account and everything goes by which
 * somebody else could still enter it.
 */
export function createClaims(deps: ClaimDeps) {
  const { users, otherWaysIn } = deps;
  const release = createReleases(deps);
  const takeOver = createTakeovers(deps);

  /** Whether the account has its owner without the contact: then it is not the prover's. */
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
  /** The account, which the prover may enter now; undefined where the claim fell. */
  const judge = async (unit: Unit, project: Project, account: UserRecord, { contact, actor }: Proof) => {
    const isOwner = actor.kind === 'user' && actor.id === account.id;
    if (isOwner || account[`${contact}Verification`] || account[`${contact}Vouched`]) return account;
    if (!(await standsWithout(unit, project, account, contact))) return takeOver(unit, project, account, contact);
    await release(unit, project, account, contact);
    return undefined;
  };
  const create = async (unit: Unit, project: Project, { contact, value }: Proof, newcomer: Proof['newcomer']) => {
    if (newcomer === null) return undefined;
    const { id, name = '', locale } = newcomer;
    const input = { id, name, locale, passwordHash: null, email: null, phone: null, [contact]: value };
    return users.markVerified(unit, project.id, await users.create(unit, project.id, input), contact);
  };

  const settle = async (unit: Unit, project: Project, proof: Proof): Promise<UserRecord | undefined> => {
    const { contact, value, newcomer } = proof;
    const claimant = proof.account ?? (await users.lockByContact(unit, project.id, contact, value));
    if (claimant === undefined) return create(unit, project, proof, newcomer);
    if (!claimant.status) return claimant;
    return (await judge(unit, project, claimant, proof)) ?? (await create(unit, project, proof, newcomer));
  };

  return {
    /**
     * The account that the prover may enter, with the contact verified; undefined where the claim fell and no account was to be made. A
     * blocked account is returned as it is: the caller refuses it. Throws Failure `user_already_exists` where the id for a new account,
     * or the contact in the meantime, is taken.
     */
    claim: async (unit: Unit, project: Project, proof: Proof): Promise<UserRecord | undefined> => {
      const account = await settle(unit, project, proof);
      return account?.status ? users.markVerified(unit, project.id, account, proof.contact) : account;
    },
    /**
     * The same for a caller that may still refuse the prover for want of a second factor: an account that stays whose it is stays as it is,
     * and the caller marks the contact as verified when nothing is refused any more.
     */
    settle,
  };
}

/** The service of claims. */
export type Claims = ReturnType<typeof createClaims>;
