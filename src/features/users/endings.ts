import type { Account } from '#src/contract/account.js';
import type { Project } from '#src/contract/project.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Sessions } from '../sessions/index.js';

/** What each change of a user ends: sessions, and codes and links that are still open. */
export function createEndings(sessions: Sessions, secrets: OneTimeSecrets) {
  /** Of one address everything goes that was ever sent there, also what its user did not ask for under this account. */
  const address = async (unit: Unit, project: Project, recipient: string | null): Promise<void> => {
    if (recipient !== null) await secrets.void(unit, project, 'every', { recipient });
  };
  const proofs = (unit: Unit, project: Project, { id }: Account) =>
    secrets.void(unit, project, 'every', { userId: id });
  return {
    proofs,
    ofPassword: async (unit: Unit, project: Project, account: Account, keepSessionId?: string): Promise<void> => {
      await sessions.closeAll(unit, project, account.id, keepSessionId);
      await proofs(unit, project, account);
    },
    ofEmail: async (unit: Unit, project: Project, account: Account): Promise<void> => {
      await address(unit, project, account.email);
      await secrets.void(unit, project, ['recovery'], { userId: account.id });
    },
    ofPhone: (unit: Unit, project: Project, account: Account): Promise<void> => address(unit, project, account.phone),
    /** Sessions keep their rows, so that their holders learn of the block. */
    ofBlock: async (unit: Unit, project: Project, account: Account): Promise<void> => {
      await sessions.endAll(unit, project, account.id);
      await proofs(unit, project, account);
    },
    ofRemoval: async (unit: Unit, project: Project, account: Account): Promise<void> => {
      await sessions.closeAll(unit, project, account.id);
      await proofs(unit, project, account);
      await address(unit, project, account.email);
      await address(unit, project, account.phone);
    },
  };
}
