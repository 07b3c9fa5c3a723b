import type { UserRecord } from '#src/contract/user.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, jsonText, nullable, table, text } from '#src/platform/db/table.js';
import { bind } from '#src/platform/runtime/bind.js';
import { userTable } from '../../users/index.js';
import { teams } from './store.js';

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

const { name } = memberships;

/** SQL over memberships and their copies in the users table. */
export function createMembershipStore(sql: Sql) {
  const { knex, compile } = sql;
  const own = ({ projectId, id }: Membership) => knex(name).where({ project_id: projectId, id });
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, id: p.id }).select(memberships.select(sql)),
    ),
    /** Returns a row if any project has a membership with the id. */
    ofAnyProject: (id: string): Query => compile(knex(name).where({ id }).select('id')),
    insert: (membership: Membership): Query => compile(knex(name).insert(memberships.encode(membership))),
    update: (membership: Membership, change: Partial<Membership>): Query =>
      compile(own(membership).update(memberships.encodeSome(change))),
    remove: (membership: Membership): Query => compile(own(membership).delete()),
    ...bind(sql, { findOfUser, findOfAddress, findOthers, owners, owned, allWithoutOwner }),
    ...bind(sql, { rows, columns, lockMembers, lockAll, copyToUsers, removeAll }),
  };
}

function ofTeam({ knex }: Sql, projectId: string, teamId: string) {
  return knex(name).where({ project_id: projectId, team_id: teamId });
}

function findOfUser(sql: Sql, projectId: string, teamId: string, userId: string): Query {
  const query = ofTeam(sql, projectId, teamId).where({ user_id: userId }).whereNull('address');
  return sql.compile(query.select(memberships.select(sql)));
}

/** Locked until the unit ends: its user may no longer have this address, and may be deleted concurrently. */
function findOfAddress(sql: Sql, projectId: string, teamId: string, address: string): Query {
  return sql.compile(ofTeam(sql, projectId, teamId).where({ address }).forUpdate().select(memberships.select(sql)));
}

/**
 * The user's other invitations to the team, which end when this one is accepted. Invitations to a former address stay: ending them would
 * reveal that the account had it.
 */
function findOthers(sql: Sql, { projectId, teamId, id }: Membership, account: UserRecord): Query {
  const query = ofTeam(sql, projectId, teamId)
    .where({ confirm: 0 })
    .whereNot({ id })
    .where((of) => of.where({ user_id: account.id, address: null }).orWhere({ address: account.email ?? '' }));
  return sql.compile(query.select(memberships.select(sql)));
}

/** Roles cannot contain quotes, so the quoted word matches a whole role only. LIKE would ignore case on SQLite. */
const isOwned = `replace(roles, ?, '') <> roles`;
const quotedOwner = `"${ownerRole}"`;

function owners(sql: Sql, projectId: string, teamId: string): Query {
  const members = ofTeam(sql, projectId, teamId).where({ confirm: 1 });
  return sql.compile(members.whereRaw(isOwned, [quotedOwner]).count({ total: '*' }));
}

/** Filters the teams that have an owner. */
function owned(sql: Sql, projectId: string, teamIds: readonly string[]): Query {
  const members = sql.knex(name).where({ project_id: projectId, confirm: 1 });
  const query = members.where(sql.isOneOf('team_id', sql.list(teamIds))).whereRaw(isOwned, [quotedOwner]);
  return sql.compile(query.distinct('team_id'));
}

/** Teams of any project that have members but no owner, up to `limit`. */
function allWithoutOwner({ text }: Sql, limit: number): Query {
  return text(
    `select project_id, team_id from memberships where confirm = 1 group by project_id, team_id
          having max(case when ${isOwned} then 1 else 0 end) = 0 order by project_id, team_id limit ?`,
    [quotedOwner, limit],
  );
}

/** Memberships of a team or a user, joined with users and teams. */
function rows(sql: Sql, projectId: string, of: { readonly teamId: string } | { readonly userId: string }) {
  const wanted = 'teamId' in of ? { 'memberships.team_id': of.teamId } : { 'memberships.user_id': of.userId };
  return named(sql, projectId).where(wanted);
}

function named({ knex }: Sql, projectId: string) {
  return knex(name)
    .join(userTable.name, (on) =>
      on.on('users.project_id', 'memberships.project_id').andOn('users.id', 'memberships.user_id'),
    )
    .join(teams.name, (on) =>
      on.on('teams.project_id', 'memberships.project_id').andOn('teams.id', 'memberships.team_id'),
    )
    .where('memberships.project_id', projectId);
}

function columns(sql: Sql) {
  const selected = [memberships.select(sql, 'membership'), userTable.select(sql, 'user')];
  return sql.knex.raw('?, ?, teams.name as team_name', selected);
}

/** Locks the members of a team, in the order of their ids, until the unit ends. */
function lockMembers(sql: Sql, projectId: string, teamId: string): Query {
  const members = ofTeam(sql, projectId, teamId).where({ confirm: 1 }).select('user_id');
  const query = sql.knex(userTable.name).where({ project_id: projectId }).whereIn('id', members);
  return sql.compile(query.orderBy('id').forUpdate().select('id'));
}

/**
 * All memberships and invitations of a user, or the open invitations to some recipients, joined with users and teams; locked until the unit
 * ends.
 */
function lockAll(sql: Sql, projectId: string, of: EndingOf): Query {
  const query = named(sql, projectId);
  if ('userId' in of) query.where('memberships.user_id', of.userId);
  else query.where('memberships.confirm', 0).whereIn('memberships.recipient', [...of.recipients]);
  return sql.compile(query.orderBy('memberships.id').forUpdate(name).select(columns(sql)));
}

/** Rewrites the copies of memberships in the rows of these users. */
function copyToUsers(sql: Sql, projectId: string, userIds: readonly string[]): Query {
  const { jsonObject, jsonOfRows, jsonWithin } = sql.words;
  const copy = `${jsonObject}('id', id, 'teamId', team_id, 'roles', ${jsonWithin('roles')}, 'joined', joined)`;
  const copies = sql.knex.raw(
    `coalesce((select ${jsonOfRows(copy, 'joined, id')} from memberships where project_id = users.project_id and user_id = users.id and confirm = 1), '[]')`,
  );
  const query = sql.knex(userTable.name).where({ project_id: projectId });
  return sql.compile(query.where(sql.isOneOf('id', sql.list(userIds))).update({ memberships: copies }));
}

function removeAll(sql: Sql, projectId: string, ids: readonly string[]): Query {
  const query = sql.knex(name).where({ project_id: projectId });
  return sql.compile(query.where(sql.isOneOf('id', sql.list(ids))).delete());
}
