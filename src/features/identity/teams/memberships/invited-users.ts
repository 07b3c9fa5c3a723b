import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Users } from '../../users/index.js';

/** The person to invite, named by one identifier or by several of the same person. */
export interface Invitation {
  readonly userId: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
  /** Display name of the account to create for an unknown person. */
  readonly name: string;
  readonly roles: readonly string[];
}

/** Finds or creates the users named in invitations. */
export interface InvitedUsers {
  /**
   * The user with all given identifiers, locked; undefined if there is none. Throws Failure `user_not_found` for an unknown id, and
   * `user_already_exists` if the identifiers belong to different users; only server keys and operators may learn the latter.
   */
  findLocked(unit: Unit, project: Project, invitation: Invitation): Promise<UserRecord | undefined>;
  /**
   * The user that a team owner invites, locked. Found by id if given, otherwise by email address; the other identifiers are only stored
   * for display.
   */
  findInvited(unit: Unit, project: Project, invitation: Invitation): Promise<UserRecord | undefined>;
  /** Creates an account for an unknown person. */
  create(
    unit: Unit,
    project: Project,
    invitation: Omit<Invitation, 'roles'>,
    locale: string | null,
  ): Promise<UserRecord>;
}

/** Creates the lookup of invited users. */
export function createInvitedUsers({ users }: { readonly users: Users }): InvitedUsers {
  const find = async (unit: Unit, project: Project, invitation: Invitation): Promise<UserRecord | undefined> => {
    const { userId, email, phone } = invitation;
    const byId = userId === undefined ? undefined : await users.get(unit, project.id, userId);
    const byEmail = email === undefined ? undefined : await users.findByEmail(unit, project.id, email);
    const byPhone = phone === undefined ? undefined : await users.findByPhone(unit, project.id, phone);
    const found = byId ?? byEmail ?? byPhone;
    if (found === undefined) return undefined;
    const differs = (email !== undefined && found.email !== email) || (phone !== undefined && found.phone !== phone);
    if (differs) throw new Failure('user_already_exists', { message: 'The identifiers are not those of one user.' });
    return found;
  };
  const findLocked: InvitedUsers['findLocked'] = async (unit, project, invitation) => {
    const found = await find(unit, project, invitation);
    return found && users.lockById(unit, project.id, found.id);
  };
  const findInvited: InvitedUsers['findInvited'] = async (unit, project, { userId, email }) => {
    if (userId === undefined && email === undefined) throw new Failure(...unreachable);
    const invitation = {
      userId,
      email: userId === undefined ? email : undefined,
      phone: undefined,
      name: '',
      roles: [],
    };
    return findLocked(unit, project, invitation);
  };
  const create: InvitedUsers['create'] = async (unit, project, invitation, locale) => {
    const { userId, email = null, phone = null, name } = invitation;
    // The user was deleted between two statements.
    if (userId !== undefined) throw new Failure('user_not_found');
    const input = { id: uniqueId, email, phone, name, passwordHash: null, locale };
    try {
      return await users.create(unit, project.id, input);
    } catch (error) {
      // A parallel sign-up or invitation may have created the user.
      const other =
        error instanceof Failure && error.type === 'user_already_exists'
          ? await findLocked(unit, project, { ...invitation, roles: [] })
          : undefined;
      if (other === undefined) throw error;
      return other;
    }
  };

  return { findLocked, findInvited, create };
}

/** Failure for an invitation that resolves to no email address. */
export const unreachable = [
  'general_argument_invalid',
  { message: 'Nobody can be invited this way: give an email address, or the id of a user who has one.' },
] as const;
