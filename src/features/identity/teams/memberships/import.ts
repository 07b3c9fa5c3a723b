import { isDeepStrictEqual } from 'node:util';
import type { ServerKey } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { announceMembership } from '../model/announce.js';
import type { Membership } from '../model/membership-store.js';
import { membershipRecord, newMembership } from '../model/memberships.js';
import type { MembershipDeps } from './service.js';

/** A membership to import, confirmed or invited. */
interface ImportedMembership {
  readonly id: string;
  readonly teamId: string;
  readonly userId: string;
  readonly roles: readonly string[];
  readonly confirmed: boolean;
  readonly invited: Instant;
  /** Null of an invitation. */
  readonly joined: Instant | null;
}

type Imported = 'created' | 'changed' | 'skipped' | Failure;

/** Options of an import. */
interface ImportOptions {
  /** Leaves existing memberships as they are. */
  readonly keep: boolean;
  /** Checks everything and writes nothing. */
  readonly dryRun: boolean;
}

/** Imports memberships for the operator, with their ids and times. Sends no messages. */
interface MembershipImport {
  /** Writes as many of the memberships as possible and returns the outcome of each. */
  importSome(
    by: AuditContext,
    project: Project,
    given: readonly ImportedMembership[],
    options: ImportOptions,
  ): Promise<Imported[]>;
  /** Creates a team without members, as old as its source. Throws Failure `team_already_exists`. */
  createTeam(by: AuditContext, project: Project, team: ImportedTeam): Promise<void>;
}

interface ImportedTeam {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Instant;
}

/** Creates the import of memberships. */
export function createMembershipImport(deps: Deps): MembershipImport {
  return bind(deps, { importSome, createTeam });
}

type Deps = MembershipDeps;

/** The operator has the permissions of a server key with all scopes. */
const operator: ServerKey = { kind: 'key', id: '', name: 'operator', scopes: ['all'], expire: null };

async function createTeam({ db, teams }: Deps, by: AuditContext, project: Project, team: ImportedTeam): Promise<void> {
  await db.work(by, (unit) => teams.create(unit, project, operator, { ...team, roles: [] }));
}

/** Writes all memberships in one unit. If one cannot be written, the unit fails, and each gets its own unit. */
async function importSome(
  deps: Deps,
  by: AuditContext,
  project: Project,
  given: readonly ImportedMembership[],
  options: ImportOptions,
): Promise<Imported[]> {
  const run = async (unit: Unit) => {
    const outcomes: Imported[] = [];
    for (const one of given) outcomes.push(await importOne(deps, unit, project, one, options));
    return outcomes;
  };
  try {
    return await (options.dryRun ? deps.db.rehearse(by, run) : deps.db.work(by, run));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (given.length === 1) return [error];
    const outcomes: Imported[] = [];
    for (const one of given) outcomes.push(...(await importSome(deps, by, project, [one], options)));
    return outcomes;
  }
}

/**
 * Creates or changes a membership. One of the same user in the same team counts as the same membership, because a membership gets another id
 * here if a membership of another project has its id.
 */
async function importOne(
  deps: Deps,
  unit: Unit,
  project: Project,
  given: ImportedMembership,
  { keep }: ImportOptions,
): Promise<Imported> {
  const { users, teams } = deps;
  const { teamId, userId } = given;
  const seen = await findPresent(deps, unit, project, given);
  if (seen !== undefined && (keep || isSame(seen, given))) return 'skipped';
  const team = await teams.lockById(unit, project, teamId);
  const account = await users.lockById(unit, project.id, userId);
  if (account === undefined) throw new Failure('user_not_found', { message: `There is no user ${userId}.` });
  const present = await findPresent(deps, unit, project, given);
  const membership =
    present === undefined
      ? await create(deps, unit, project, account, given)
      : await change(deps, unit, account, present, given);
  const event = present === undefined ? 'membershipCreated' : 'membershipUpdated';
  announceMembership(unit, event, { membership, account, teamName: team.name });
  return present === undefined ? 'created' : 'changed';
}

/** The membership with the id, or else the membership or the open invitation of the user. */
async function findPresent(
  { users, membershipRepository }: Deps,
  unit: Unit,
  project: Project,
  { id, teamId, userId }: ImportedMembership,
): Promise<Membership | undefined> {
  const present = await membershipRepository.find(unit, project.id, id);
  if (present?.teamId === teamId && present.userId === userId) return present;
  const ofUser = await membershipRepository.ofUser(unit, project.id, teamId, userId);
  if (ofUser !== undefined) return ofUser;
  const email = (await users.find(unit, project.id, userId))?.email ?? null;
  return email === null ? undefined : membershipRepository.ofAddress(unit, project.id, teamId, email);
}

async function create(
  { random, membershipRepository }: Deps,
  unit: Unit,
  project: Project,
  account: UserRecord,
  given: ImportedMembership,
): Promise<Membership> {
  const { teamId, userId, confirmed, invited } = given;
  const id = (await membershipRepository.isIdTaken(unit, given.id)) ? random.id() : given.id;
  const state = stateOf(given);
  const email = account.email ?? '';
  const pending = {
    invitedAs: { name: account.name, email, phone: account.phone ?? '' },
    address: account.email,
    recipient: account.email,
    confirm: false,
  };
  const fresh = newMembership(unit, { id, projectId: project.id, teamId, userId, roles: state.roles });
  const added = { ...fresh, ...state, createdAt: invited, ...(confirmed ? {} : pending) };
  const membership = await membershipRepository.add(unit, account, added);
  const entry = membershipRecord(membership);
  if (confirmed) unit.record('membershipConfirmed', entry);
  else unit.record('membershipInvited', { ...entry, payload: { ...entry.payload, email } });
  return membership;
}

/** Changes a membership. One that was accepted here stays accepted. */
async function change(
  { membershipRepository }: Deps,
  unit: Unit,
  account: UserRecord,
  present: Membership,
  given: ImportedMembership,
): Promise<Membership> {
  const accepted =
    given.confirmed && !present.confirm
      ? (await membershipRepository.confirm(unit, account, present, { secretDigest: null })).membership
      : present;
  const { joined, ...state } = stateOf(given);
  const times = accepted.confirm && !given.confirmed ? {} : { joined };
  const membership = await membershipRepository.change(unit, account, accepted, { ...state, ...times });
  unit.record('membershipUpdated', membershipRecord(membership));
  return membership;
}

function stateOf({ roles, confirmed, invited, joined }: ImportedMembership) {
  return { roles: [...new Set(roles)], invited, joined: joined ?? (confirmed ? invited : null) };
}

function isSame(present: Membership, given: ImportedMembership): boolean {
  const { roles, invited, joined } = stateOf(given);
  const isJoined = !given.confirmed || (present.confirm && present.joined === joined);
  return isJoined && present.invited === invited && isDeepStrictEqual(present.roles, roles);
}
