import type { Project } from '#src/contract/project.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';

/** The part of the sessions feature that user changes call. An interface, because sessions are built after this feature. */
export interface SessionEnder {
  /** Deletes the sessions of a user, except `exceptId`. */
  closeAll(unit: Unit, project: Project, userId: string, exceptId?: string): Promise<number>;
  /** Ends the sessions of a user but keeps their rows, so that their holders get `user_blocked`. */
  endAll(unit: Unit, project: Project, userId: string): Promise<void>;
}

/** The part of the teams feature that deleting a user calls. An interface, because teams are built after this feature. */
export interface MembershipEnder {
  /** Deletes all memberships and invitations of a user. */
  endAll(unit: Unit, project: Project, of: { readonly userId: string }): Promise<void>;
}

/** Features that revoke what a change of a user invalidates: sessions, memberships, and open codes and links. */
export interface Revoking {
  readonly sessions: SessionEnder;
  readonly memberships: MembershipEnder;
  readonly secrets: OneTimeSecrets;
}

/** Voids all open codes and links of a user. */
export async function voidProofs({ secrets }: Revoking, unit: Unit, project: Project, { id }: UserRecord) {
  await secrets.void(unit, project, 'every', { userId: id });
}

export async function revokeForPassword(
  deps: Revoking,
  unit: Unit,
  project: Project,
  user: UserRecord,
  keepSessionId?: string,
): Promise<void> {
  await deps.sessions.closeAll(unit, project, user.id, keepSessionId);
  await voidProofs(deps, unit, project, user);
}

export async function revokeForEmail(deps: Revoking, unit: Unit, project: Project, user: UserRecord): Promise<void> {
  await voidSentTo(deps, unit, project, user.email);
  await deps.secrets.void(unit, project, ['recovery'], { userId: user.id });
}

/** Voids every secret ever sent to an address or number, including secrets issued for other accounts or none. */
export async function voidSentTo({ secrets }: Revoking, unit: Unit, project: Project, recipient: string | null) {
  if (recipient !== null) await secrets.void(unit, project, 'every', { recipient });
}

export async function revokeForBlock(deps: Revoking, unit: Unit, project: Project, user: UserRecord): Promise<void> {
  await deps.sessions.endAll(unit, project, user.id);
  await voidProofs(deps, unit, project, user);
}

export async function revokeForRemoval(deps: Revoking, unit: Unit, project: Project, user: UserRecord): Promise<void> {
  await deps.memberships.endAll(unit, project, { userId: user.id });
  await deps.sessions.closeAll(unit, project, user.id);
  await voidProofs(deps, unit, project, user);
  await voidSentTo(deps, unit, project, user.email);
  await voidSentTo(deps, unit, project, user.phone);
}
