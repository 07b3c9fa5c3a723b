import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Users } from '../../users/index.js';

/** One identifier of a person, or several. */
interface Identifiers {
  readonly userId: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
}

/** The person to invite. */
export interface Invitation extends Identifiers {
  /** Display name of the account to create for an unknown person. */
  readonly name: string;
  readonly roles: readonly string[];
}

/**
 * The user with all given identifiers, locked; undefined if there is none. Throws Failure `user_not_found` for an unknown id, and
 * `user_already_exists` if the identifiers belong to different users; only server keys and operators may learn the latter.
 */
export async function lockInvitee(users: Users, unit: Unit, project: Project, { userId, email, phone }: Identifiers) {
  const byId = userId === undefined ? undefined : await users.get(unit, project.id, userId);
  const byEmail = email === undefined ? undefined : await users.findByEmail(unit, project.id, email);
  const byPhone = phone === undefined ? undefined : await users.findByPhone(unit, project.id, phone);
  const found = byId ?? byEmail ?? byPhone;
  if (found === undefined) return undefined;
  const differs = (email !== undefined && found.email !== email) || (phone !== undefined && found.phone !== phone);
  if (differs) throw new Failure('user_already_exists', { message: 'The identifiers are not those of one user.' });
  return users.lockById(unit, project.id, found.id);
}

/**
 * The user that a team owner invites, locked. Found by id if given, otherwise by email address; the other identifiers are only stored
 * for display.
 */
export async function lockInviteeOfOwner(users: Users, unit: Unit, project: Project, { userId, email }: Identifiers) {
  if (userId === undefined && email === undefined) throw new Failure(...unreachable);
  const named = { userId, email: userId === undefined ? email : undefined, phone: undefined };
  return lockInvitee(users, unit, project, named);
}

/** Creates an account for an unknown person. */
export async function createInvitee(
  users: Users,
  unit: Unit,
  project: Project,
  { name, ...identifiers }: Omit<Invitation, 'roles'>,
  locale: string | null,
): Promise<UserRecord> {
  const { userId, email = null, phone = null } = identifiers;
  // The user was deleted between two statements.
  if (userId !== undefined) throw new Failure('user_not_found');
  const input = { id: uniqueId, email, phone, name, passwordHash: null, locale };
  try {
    return await users.create(unit, project.id, input);
  } catch (error) {
    // A parallel sign-up or invitation may have created the user.
    const isTaken = error instanceof Failure && error.type === 'user_already_exists';
    const other = isTaken ? await lockInvitee(users, unit, project, identifiers) : undefined;
    if (other === undefined) throw error;
    return other;
  }
}

/** Failure for an invitation that resolves to no email address. */
export const unreachable = [
  'general_argument_invalid',
  { message: 'Nobody can be invited this way: give an email address, or the id of a user who has one.' },
] as const;
