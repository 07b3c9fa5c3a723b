import type { UserRecord } from '#src/contract/user.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bool, instant, json, nullable, table, text } from '#src/platform/db/table.js';
import { userTable } from '../../users/index.js';
import { teams } from '../store.js';

/** What an invitation named of whom it invites. */
interface InvitedAs {
  readonly name: string;
  readonly email: string;
  readonly phone: string;
}

/** Places in teams, taken or offered. */
export const memberships = table('memberships', {
  projectId: text,
  id: text,
  teamId: text,
  userId: text,
  roles: json<readonly string[]>(),
  invitedAs: json<InvitedAs>(),
  /** The id under which the team sees who is invited, until they accept: their own would tell how old their account is. */
  alias: nullable(text),
  /** By which the team has invited somebody, until they accept; null where it knows the user. */
  address: nullable(text),
  recipient: nullable(text),
  secretDigest: nullable(text),
  invited: instant,
  joined: nullable(instant),
  confirm: bool,
  createdAt: instant,
  updatedAt: instant,
});

/** A place in a team. */
export type Membership = ReturnType<typeof memberships.decode>;

/** The role that may change a team. */
export const ownerRole = 'owner';

/** SQL over memberships, and over the copy of them that stands with the users. */
export function createMembershipStore(sql: Sql) {
  const { knex, dialect } = sql;
  const { name } = memberships;
  const joined =
    dialect === 'sqlite'
      ? `json_group_array(json_object('id', id, 'teamId', team_id, 'roles', json(roles), 'joined', joined) order by joined, id)`
      : `json_agg(json_build_object('id', id, 'teamId', team_id, 'roles', roles::json, 'joined', joined) order by joined, id)::text`;
  const ofTeam = (projectId: string, teamId: string) => knex(name).where({ project_id: projectId, team_id: teamId });
  const named = (projectId: string) =>
    knex(name)
      .join(userTable.name, (on) =>
        on.on('users.project_id', 'memberships.project_id').andOn('users.id', 'memberships.user_id'),
      )
      .join(teams.name, (on) =>
        on.on('teams.project_id', 'memberships.project_id').andOn('teams.id', 'memberships.team_id'),
      )
      .where('memberships.project_id', projectId);
  const columns = () =>
    knex.raw('?, ?, teams.name as team_name', [memberships.select(sql, 'membership'), userTable.select(sql, 'user')]);
  return {
    find: sql.prepare<{ projectId: string; id: string }>((k, p) =>
      k(name).where({ project_id: p.projectId, id: p.id }).select(memberships.select(sql)),
    ),
    findOfUser: (projectId: string, teamId: string, userId: string): Query =>
      sql.compile(
        ofTeam(projectId, teamId).where({ user_id: userId }).whereNull('address').select(memberships.select(sql)),
      ),
    /** Held until the unit ends: the user that it names may be another than the one whose address it is by now, and be deleted meanwhile. */
    findOfAddress: (projectId: string, teamId: string, address: string): Query =>
      sql.compile(ofTeam(projectId, teamId).where({ address }).forUpdate().select(memberships.select(sql))),
    /** Other invitations that are done with when this one is accepted. What went to an address that the account had before is not: its end would tell so. */
    findOthers: ({ projectId, teamId, id }: Membership, account: UserRecord): Query =>
      sql.compile(
        ofTeam(projectId, teamId)
          .where({ confirm: 0 })
          .whereNot({ id })
          .where((of) => of.where({ user_id: account.id, address: null }).orWhere({ address: account.email ?? '' }))
          .select(memberships.select(sql)),
      ),
    insert: (membership: Membership): Query => sql.compile(knex(name).insert(memberships.encode(membership))),
    update: ({ projectId, id }: Membership, change: Partial<Membership>): Query =>
      sql.compile(knex(name).where({ project_id: projectId, id }).update(memberships.encodeSome(change))),
    remove: ({ projectId, id }: Membership): Query =>
      sql.compile(knex(name).where({ project_id: projectId, id }).delete()),
    removeAll: (projectId: string, ids: readonly string[]): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId })
          .where(sql.isOneOf('id', sql.list(ids)))
          .delete(),
      ),
    /** Quotes cannot stand in a role, so the quoted word is the role and nothing else; LIKE would not heed the case. */
    owners: (projectId: string, teamId: string): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId, team_id: teamId, confirm: 1 })
          .whereRaw(`replace(roles, ?, '') <> roles`, [`"${ownerRole}"`])
          .count({ total: '*' }),
      ),
    /** Which of these teams have an owner. */
    owned: (projectId: string, teamIds: readonly string[]): Query =>
      sql.compile(
        knex(name)
          .where({ project_id: projectId, confirm: 1 })
          .where(sql.isOneOf('team_id', sql.list(teamIds)))
          .whereRaw(`replace(roles, ?, '') <> roles`, [`"${ownerRole}"`])
          .distinct('team_id'),
      ),
    /** Some of the teams of all projects that have members, and no owner among them. */
    allWithoutOwner: (limit: number): Query =>
      sql.text(
        `select project_id, team_id from memberships where confirm = 1 group by project_id, team_id
          having max(case when replace(roles, ?, '') <> roles then 1 else 0 end) = 0 order by project_id, team_id limit ?`,
        [`"${ownerRole}"`, limit],
      ),
    /** Keeps others from changing the members of a team, one after the other by id, until the unit ends. */
    lockMembers: (projectId: string, teamId: string): Query =>
      sql.compile(
        knex(userTable.name)
          .where({ project_id: projectId })
          .whereIn('id', knex(name).where({ project_id: projectId, team_id: teamId, confirm: 1 }).select('user_id'))
          .orderBy('id')
          .forUpdate()
          .select('id'),
      ),
    /** Writes with these users which teams they have joined, as the table has it now. */
    copyToUsers: (projectId: string, userIds: readonly string[]): Query =>
      sql.compile(
        knex(userTable.name)
          .where({ project_id: projectId })
          .where(sql.isOneOf('id', sql.list(userIds)))
          .update({
            memberships: knex.raw(
              `coalesce((select ${joined} from memberships where project_id = users.project_id and user_id = users.id and confirm = 1), '[]')`,
            ),
          }),
      ),
    /** Memberships of a team, or of a user, with what is named of both. */
    rows: (projectId: string, of: { readonly teamId: string } | { readonly userId: string }) =>
      named(projectId).where(
        'teamId' in of ? { 'memberships.team_id': of.teamId } : { 'memberships.user_id': of.userId },
      ),
    columns,
    /** Everything of a user, or the open invitations to some recipients, with what is named of users and teams; held until the unit ends. */
    lockAll: (projectId: string, of: EndingOf): Query => {
      const rows = named(projectId);
      if ('userId' in of) rows.where('memberships.user_id', of.userId);
      else rows.where('memberships.confirm', 0).whereIn('memberships.recipient', [...of.recipients]);
      return sql.compile(rows.orderBy('memberships.id').forUpdate(name).select(columns()));
    },
  };
}

/** Whose memberships and invitations end together: everything of a user, or the open invitations to some recipients. */
export type EndingOf = { readonly userId: string } | { readonly recipients: readonly string[] };

/** SQL over memberships. */
export type MembershipStore = ReturnType<typeof createMembershipStore>;
