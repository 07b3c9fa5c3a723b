import { isDeepStrictEqual } from 'node:util';
import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import type { Instant } from '#src/contract/shapes.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Users } from '../../users/index.js';
import { announceMembership } from '../model/announce.js';
import type { Membership } from '../model/membership-store.js';
import { type MembershipRepository, membershipRecord, newMembership } from '../model/memberships.js';
import type { Teams } from '../model/service.js';

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

interface Deps extends Pick<Runtime, 'db'> {
  readonly users: Users;
  readonly teams: Teams;
  readonly membershipRepository: MembershipRepository;
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
}

/** Creates the import of memberships. */
export function createMembershipImport({ db }: Pick<Runtime, 'db'>, given: Omit<Deps, 'db'>): MembershipImport {
  return bind({ ...given, db }, { importSome });
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

async function importOne(
  { users, teams, membershipRepository }: Deps,
  unit: Unit,
  project: Project,
  given: ImportedMembership,
  { keep }: ImportOptions,
): Promise<Imported> {
  const { id, teamId, userId, confirmed, invited, joined } = given;
  const present = await membershipRepository.find(unit, project.id, id);
  if (present !== undefined && (keep || isSame(present, given))) return 'skipped';
  const team = await teams.lockById(unit, project, teamId);
  const account = await users.lockById(unit, project.id, userId);
  if (account === undefined) throw new Failure('user_not_found', { message: `There is no user ${userId}.` });
  const roles = [...new Set(given.roles)];
  const state = { roles, invited, joined: joined ?? (confirmed ? invited : null) };
  if (present === undefined) {
    const other = await membershipRepository.ofUser(unit, project.id, teamId, userId);
    if (other !== undefined)
      throw new Failure('membership_already_confirmed', {
        message: `The user ${userId} has another membership of the team ${teamId}: ${other.id}.`,
      });
    const fresh = newMembership(unit, { id, projectId: project.id, teamId, userId, roles });
    const pending = {
      invitedAs: { name: account.name, email: account.email ?? '', phone: account.phone ?? '' },
      address: account.email,
      recipient: account.email,
      confirm: false,
    };
    const added = { ...fresh, ...state, createdAt: invited, ...(confirmed ? {} : pending) };
    const membership = await membershipRepository.add(unit, account, added);
    const entry = membershipRecord(membership);
    if (confirmed) unit.record('membershipConfirmed', entry);
    else unit.record('membershipInvited', { ...entry, payload: { ...entry.payload, email: account.email ?? '' } });
    announceMembership(unit, 'membershipCreated', { membership, account, teamName: team.name });
    return 'created';
  }
  if (present.teamId !== teamId || present.userId !== userId)
    throw new Failure('membership_already_confirmed', {
      message: `The membership ${id} belongs to another team or user here.`,
    });
  const accepted =
    confirmed && !present.confirm
      ? (await membershipRepository.confirm(unit, account, present, { secretDigest: null })).membership
      : present;
  // A membership that was accepted here stays accepted.
  const change = accepted.confirm && !confirmed ? { roles, invited } : state;
  const membership = await membershipRepository.change(unit, account, accepted, change);
  unit.record('membershipUpdated', membershipRecord(membership));
  announceMembership(unit, 'membershipUpdated', { membership, account, teamName: team.name });
  return 'changed';
}

function isSame(present: Membership, { teamId, userId, roles, confirmed, invited, joined }: ImportedMembership) {
  const isJoined = !confirmed || (present.confirm && present.joined === (joined ?? invited));
  const isPlaced = present.teamId === teamId && present.userId === userId;
  return isPlaced && isJoined && present.invited === invited && isDeepStrictEqual(present.roles, [...new Set(roles)]);
}
