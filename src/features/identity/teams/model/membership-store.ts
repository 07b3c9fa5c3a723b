import type { UserRecord } from '#src/contract/user.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { forUpdate, forUpdateOf, oneOf, raw } from '#src/platform/db/template.js';
import { bind } from '#src/platform/runtime/bind.js';
import { userTable } from '../../users/index.js';

/** Identifiers and name given in an invitation. */
interface InvitedAs {
  readonly name: string;
  readonly email: string;
  readonly phone: string;
}

/** Memberships of teams, confirmed or invited. */
export const memberships = table('memberships', {
  projectId: text,
  id: text,
  teamId: text,
  userId: text,
  roles: jsonText<readonly string[]>(),
  invitedAs: jsonText<InvitedAs>(),
  /** The id that the team sees until the invitation is accepted. The real user id would reveal how old the account is. */
  alias: nullable(text),
  /** The address the team invited, until the invitation is accepted; null if it was invited by user id. */
  address: nullable(text),
  recipient: nullable(text),
  secretDigest: nullable(text),
  invited: instant,
  joined: nullable(instant),
  confirm: bool,
  createdAt: instant,
  updatedAt: instant,
});

/** A membership or an invitation. */
export type Membership = ReturnType<typeof memberships.decode>;

/** The role that may change a team. */
export const ownerRole = 'owner';

/** Selects memberships to end: all of a user, or the open invitations to some recipients. */
export type EndingOf = { readonly userId: string } | { readonly recipients: readonly string[] };

/** Queries over memberships. */
export type MembershipStore = ReturnType<typeof createMembershipStore>;

/** SQL over memberships and their copies in the users table. */
export function createMembershipStore(sql: Sql) {
  return {
    find: ({ projectId, id }: { projectId: string; id: string }) =>
      sql`select ${memberships.row} from memberships where project_id = ${projectId} and id = ${id}`,
    /** Returns a row if any project has a membership with the id. */
    ofAnyProject: (id: string) => sql`select id from memberships where id = ${id}`,
    insert: (membership: Membership) => sql`${memberships.insert(membership)}`,
    update: ({ projectId, id }: Membership, change: Partial<Membership>) =>
      sql`update memberships set ${memberships.set(change)} where project_id = ${projectId} and id = ${id}`,
    remove: ({ projectId, id }: Membership) =>
      sql`delete from memberships where project_id = ${projectId} and id = ${id}`,
    removeAll: (projectId: string, ids: readonly string[]) =>
      sql`delete from memberships where project_id = ${projectId} and id ${oneOf(ids)}`,
    ...bind(sql, { findOfUser, findOfAddress, findOthers, owners, owned, allWithoutOwner }),
    ...bind(sql, { rows, columns, lockMembers, lockAll, copyToUsers }),
  };
}

function findOfUser(sql: Sql, projectId: string, teamId: string, userId: string): Query {
  return sql`
    select ${memberships.row} from memberships
    where project_id = ${projectId} and team_id = ${teamId} and user_id = ${userId} and address is null`;
}

/** Locked until the unit ends: its user may no longer have this address, and may be deleted concurrently. */
function findOfAddress(sql: Sql, projectId: string, teamId: string, address: string): Query {
  return sql`
    select ${memberships.row} from memberships
    where project_id = ${projectId} and team_id = ${teamId} and address = ${address}${forUpdate}`;
}

/**
 * The user's other invitations to the team, which end when this one is accepted. Invitations to a former address stay: ending them would
 * reveal that the account had it.
 */
function findOthers(sql: Sql, { projectId, teamId, id }: Membership, account: UserRecord): Query {
  return sql`
    select ${memberships.row} from memberships
    where project_id = ${projectId} and team_id = ${teamId} and confirm = 0 and id <> ${id}
      and ((user_id = ${account.id} and address is null) or address = ${account.email ?? ''})`;
}

/** Roles cannot contain quotes, so the quoted word matches a whole role only. LIKE would ignore case on SQLite. */
const isOwned = raw("replace(roles, ?, '') <> roles", [`"${ownerRole}"`]);

function owners(sql: Sql, projectId: string, teamId: string): Query {
  return sql`
    select count(*) as total from memberships
    where project_id = ${projectId} and team_id = ${teamId} and confirm = 1 and ${isOwned}`;
}

/** Filters the teams that have an owner. */
function owned(sql: Sql, projectId: string, teamIds: readonly string[]): Query {
  return sql`
    select distinct team_id from memberships
    where project_id = ${projectId} and confirm = 1 and team_id ${oneOf(teamIds)} and ${isOwned}`;
}

/** Teams of any project that have members but no owner, up to `limit`. */
function allWithoutOwner(sql: Sql, limit: number): Query {
  return sql`
    select project_id, team_id from memberships where confirm = 1 group by project_id, team_id
    having max(case when ${isOwned} then 1 else 0 end) = 0 order by project_id, team_id limit ${limit}`;
}

const membership = memberships.rowAs('membership');
const user = userTable.rowAs('user');

/** Memberships with their users and teams. */
const named = (sql: Sql) => sql`
  memberships join users on users.project_id = memberships.project_id and users.id = memberships.user_id
  join teams on teams.project_id = memberships.project_id and teams.id = memberships.team_id`;

function columns(sql: Sql) {
  return sql`${membership}, ${user}, teams.name as team_name`;
}

/** Memberships of a team or a user, joined with users and teams. */
function rows(sql: Sql, projectId: string, of: { readonly teamId: string } | { readonly userId: string }) {
  const isOf = 'teamId' in of ? sql`memberships.team_id = ${of.teamId}` : sql`memberships.user_id = ${of.userId}`;
  return { from: named(sql), where: sql`memberships.project_id = ${projectId} and ${isOf}` };
}

/** Locks the members of a team, in the order of their ids, until the unit ends. */
function lockMembers(sql: Sql, projectId: string, teamId: string): Query {
  return sql`
    select id from users where project_id = ${projectId} and id in
      (select user_id from memberships where project_id = ${projectId} and team_id = ${teamId} and confirm = 1)
    order by id${forUpdate}`;
}

/**
 * All memberships and invitations of a user, or the open invitations to some recipients, joined with users and teams; locked until the unit
 * ends.
 */
function lockAll(sql: Sql, projectId: string, of: EndingOf): Query {
  const isEnding =
    'userId' in of
      ? sql`memberships.user_id = ${of.userId}`
      : sql`memberships.confirm = 0 and memberships.recipient ${oneOf(of.recipients)}`;
  return sql`
    select ${columns(sql)} from ${named(sql)} where memberships.project_id = ${projectId} and ${isEnding}
    order by memberships.id${forUpdateOf('memberships')}`;
}

/** Rewrites the copies of memberships in the rows of these users. */
function copyToUsers(sql: Sql, projectId: string, userIds: readonly string[]): Query {
  const { jsonObject, jsonOfRows, jsonWithin } = sql.words;
  const copy = `${jsonObject}('id', id, 'teamId', team_id, 'roles', ${jsonWithin('roles')}, 'joined', joined)`;
  return sql`
    update users set memberships = coalesce((select ${raw(jsonOfRows(copy, 'joined, id'))} from memberships
      where project_id = users.project_id and user_id = users.id and confirm = 1), '[]')
    where project_id = ${projectId} and id ${oneOf(userIds)}`;
}
