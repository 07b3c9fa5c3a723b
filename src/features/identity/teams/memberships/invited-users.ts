import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Users } from '../../users/index.js';

/** Whom to invite: by one identifier, or by several that are the same person's. */
export interface Invitation {
  readonly userId: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
  /** How somebody is called who has no account yet. */
  readonly name: string;
  readonly roles: readonly string[];
}

/** Users as invitations name them. */
interface InvitedUsers {
  /** The user whom every given identifier fits, locked; undefined where there is none. Only servers may learn that they do not fit. */
  findLocked(unit: Unit, project: Project, invitation: Invitation): Promise<UserRecord | undefined>;
  /** The user whom a member of a team names: by the id, else by the e-mail address. What else is given is only shown again. */
  findInvited(unit: Unit, project: Project, invitation: Invitation): Promise<UserRecord | undefined>;
  /** Creates an account for somebody unknown. */
  create(
    unit: Unit,
    project: Project,
    invitation: Omit<Invitation, 'roles'>,
    locale: string | null,
  ): Promise<UserRecord>;
}

/** Creates what finds and creates invited users. */
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
    // Deleted between two statements.
    if (userId !== undefined) throw new Failure('user_not_found');
    const input = { id: uniqueId, email, phone, name, passwordHash: null, locale };
    try {
      return await users.create(unit, project.id, input);
    } catch (error) {
      // Somebody signed up or was invited elsewhere at the same moment.
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

/** Why nobody is invited where the invitation leads to no address. */
export const unreachable = [
  'general_argument_invalid',
  { message: 'Nobody can be invited this way: give an e-mail address, or the id of a user who has one.' },
] as const;
