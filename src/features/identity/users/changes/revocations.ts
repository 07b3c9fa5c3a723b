import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';

/** What changes of a user need of sessions, a feature that is built after this one. */
export interface SessionEnder {
  /** Deletes the sessions of a user, except the one that is named. */
  closeAll(unit: Unit, project: Project, userId: string, exceptId?: string): Promise<number>;
  /** Ends the sessions of a user and keeps their rows, so that their holders learn of the block. */
  endAll(unit: Unit, project: Project, userId: string): Promise<void>;
}

/** What the deletion of a user needs of teams, a feature that is built after this one. */
export interface MembershipEnder {
  /** Ends every membership and invitation of a user. */
  endAll(unit: Unit, project: Project, of: { readonly userId: string }): Promise<void>;
}

/** What each change of a user ends: sessions, memberships, and codes and links that are still open. */
export function createRevocations(sessions: SessionEnder, memberships: MembershipEnder, secrets: OneTimeSecrets) {
  /** Everything that was ever sent to an address, also what its user did not ask for under this account. */
  const ofRecipient = async (unit: Unit, project: Project, recipient: string | null): Promise<void> => {
    if (recipient !== null) await secrets.void(unit, project, 'every', { recipient });
  };
  const proofs = (unit: Unit, project: Project, { id }: UserRecord) =>
    secrets.void(unit, project, 'every', { userId: id });
  return {
    proofs,
    afterPasswordChange: async (
      unit: Unit,
      project: Project,
      user: UserRecord,
      keepSessionId?: string,
    ): Promise<void> => {
      await sessions.closeAll(unit, project, user.id, keepSessionId);
      await proofs(unit, project, user);
    },
    afterEmailChange: async (unit: Unit, project: Project, user: UserRecord): Promise<void> => {
      await ofRecipient(unit, project, user.email);
      await secrets.void(unit, project, ['recovery'], { userId: user.id });
    },
    afterPhoneChange: (unit: Unit, project: Project, user: UserRecord) => ofRecipient(unit, project, user.phone),
    afterBlock: async (unit: Unit, project: Project, user: UserRecord): Promise<void> => {
      await sessions.endAll(unit, project, user.id);
      await proofs(unit, project, user);
    },
    beforeRemoval: async (unit: Unit, project: Project, user: UserRecord): Promise<void> => {
      await memberships.endAll(unit, project, { userId: user.id });
      await sessions.closeAll(unit, project, user.id);
      await proofs(unit, project, user);
      await ofRecipient(unit, project, user.email);
      await ofRecipient(unit, project, user.phone);
    },
  };
}
