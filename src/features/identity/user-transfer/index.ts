import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { noTokens } from '#src/contract/session.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { ForeignHash } from '#src/platform/crypto/foreign-hashes/hash.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Factors } from '../factors/index.js';
import type { Identities } from '../identities/index.js';
import type { Providers } from '../providers/index.js';
import { type ImportedMembers, type Users, userTable } from '../users/index.js';
import { type ExportedUser, exportedPage } from './export.js';

export type { ExportedUser } from './export.js';

/** A user's account at an identity provider, in a file. */
export interface ImportedIdentity {
  readonly provider: string;
  readonly providerUid: string;
  readonly providerEmail: string;
}

/** A user to import. */
export interface ImportedUser extends ImportedMembers {
  /** `unique()` for a generated one. */
  readonly id: string;
  readonly email: string | null;
  readonly phone: string | null;
  readonly name: string;
  /** A hash of another product, or the text of one of this service. */
  readonly hash?: ForeignHash | string | undefined;
  /** The secret of an authenticator app, in base32. */
  readonly totp?: string | undefined;
  readonly identities: readonly ImportedIdentity[];
}

/** Outcome of the import of a user. */
type ImportedOutcome = 'created' | 'skipped' | Failure;

/** Options of an import. */
interface ImportOptions {
  /** Skips users that exist: with the same id, or with the same address or number if the file has no id. */
  readonly resume: boolean;
  /** Checks everything and writes nothing. */
  readonly dryRun: boolean;
}

/** Imports and exports users of a project for the operator, with their hashes, second factors and identities. */
interface UserTransfer {
  /** Creates as many of the users as possible and returns the outcome of each. */
  importSome(
    by: AuditContext,
    project: Project,
    given: readonly ImportedUser[],
    options: ImportOptions,
  ): Promise<ImportedOutcome[]>;
  /** Reads all users in the order of their ids, in batches. Each batch is one snapshot. */
  exported(project: Project): AsyncIterable<readonly ExportedUser[]>;
}

interface Deps extends Pick<Runtime, 'db' | 'sql'> {
  readonly users: Users;
  readonly factors: Factors;
  readonly identities: Identities;
  readonly providers: Providers;
}

/** Creates the transfer of users. */
export function createUserTransfer(
  { db, sql }: Pick<Runtime, 'db' | 'sql'>,
  { users, factors, identities, providers }: Omit<Deps, 'db' | 'sql'>,
): UserTransfer {
  return bind({ db, sql, users, factors, identities, providers }, { importSome, exported });
}

/** Thrown to roll back a dry run. */
class RolledBack extends Error {
  readonly outcomes: ImportedOutcome[];
  constructor(outcomes: ImportedOutcome[]) {
    super('rolled back');
    this.outcomes = outcomes;
  }
}

/** Writes all users in one unit. If one cannot be written, the unit fails, and each user is written in its own unit. */
async function importSome(
  deps: Deps,
  by: AuditContext,
  project: Project,
  given: readonly ImportedUser[],
  options: ImportOptions,
): Promise<ImportedOutcome[]> {
  try {
    return await deps.db.work(by, async (unit) => {
      const known = new Set((await deps.providers.list(unit, project)).map(({ key }) => key));
      const outcomes: ImportedOutcome[] = [];
      for (const one of given) outcomes.push(await importOne(deps, unit, project, one, { ...options, known }));
      if (options.dryRun) throw new RolledBack(outcomes);
      return outcomes;
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.outcomes;
    if (!(error instanceof Failure)) throw error;
    if (given.length === 1) return [error];
    const outcomes: ImportedOutcome[] = [];
    for (const one of given) outcomes.push(...(await importSome(deps, by, project, [one], options)));
    return outcomes;
  }
}

/** Returns a Failure if nothing was written, and throws one if the unit has to be rolled back. */
async function importOne(
  deps: Deps,
  unit: Unit,
  project: Project,
  one: ImportedUser,
  { resume, known }: ImportOptions & { readonly known: ReadonlySet<string> },
): Promise<ImportedOutcome> {
  const { users, factors, identities } = deps;
  const foreign = one.identities.find(({ provider }) => !known.has(provider));
  if (foreign !== undefined)
    return new Failure('provider_not_found', {
      message: `This project has no provider with the key ${foreign.provider}, which an identity of the user needs.`,
    });
  const { id: requested, email, phone, name, hash, totp, identities: linked, ...imported } = one;
  const id = users.idOf(requested);
  let user: UserRecord;
  try {
    const passwordHash = storedHash(users, project, id, hash);
    user = await users.create(unit, project.id, { id, email, phone, name, passwordHash, imported });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return resume && error.type === 'user_already_exists' && (await isThere(deps, unit, project, one))
      ? 'skipped'
      : error;
  }
  if (totp !== undefined) await factors.adoptTotp(unit, project, user, totp);
  for (const identity of linked)
    if ((await identities.link(unit, project, id, { ...identity, tokens: noTokens })) === undefined)
      throw new Failure('user_already_exists', {
        message: `Another user has the account ${identity.providerUid} at ${identity.provider}.`,
      });
  return 'created';
}

function storedHash(users: Users, project: Project, id: string, hash: ImportedUser['hash']): string | null {
  if (hash === undefined) return null;
  return typeof hash === 'string' ? users.adoptOwnHash(project, { id }, hash) : users.adoptHash(project, { id }, hash);
}

async function isThere({ users }: Deps, unit: Unit, project: Project, { id, email, phone }: ImportedUser) {
  if (id !== uniqueId) return (await users.find(unit, project.id, id)) !== undefined;
  const byEmail = email === null ? undefined : await users.findByEmail(unit, project.id, email);
  return (byEmail ?? (phone === null ? undefined : await users.findByPhone(unit, project.id, phone))) !== undefined;
}

/** Users of one batch. */
const usersOfPage = 200;

async function* exported({ db, sql, users, factors, identities }: Deps, project: Project) {
  for (let after = ''; ; ) {
    const page = await db.snapshot(async (reader) => {
      const rows = await reader.all(exportedPage(sql, project.id, after, usersOfPage));
      const found: ExportedUser[] = [];
      for (const user of rows.map((row) => userTable.decode(row)))
        found.push({
          user,
          password: users.describePassword(project, user),
          totp: await factors.seedOf(reader, project, user),
          identities: await identities.ofUser(reader, project, user.id),
        });
      return found;
    });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.user.id;
  }
}
