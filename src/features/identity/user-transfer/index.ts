import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { noTokens } from '#src/contract/session.js';
import { uniqueId } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { HashDescription } from '#src/platform/crypto/hashing.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Identity } from '../identities/index.js';
import type { Providers } from '../providers/index.js';
import { isSelfMade, type Users, userTable } from '../users/index.js';
import { changesAccess, differencesOf, type ImportedUser, type UpdateDeps, updateUser } from './update.js';

export type { ImportedIdentity, ImportedUser } from './update.js';

/** A user with everything that an import takes. */
export interface ExportedUser {
  readonly user: UserRecord;
  readonly password: HashDescription | undefined;
  /** The secret of the authenticator app, in base32. */
  readonly totp: string | undefined;
  readonly identities: readonly Identity[];
}

/** Outcome of the import of a user. */
type ImportedOutcome = 'created' | 'updated' | 'skipped' | Failure;

/** Options of an import. */
interface ImportOptions {
  /** Skips users that exist: with the same id, or with the same address or number if the file has no id. */
  readonly resume: boolean;
  /** Changes users that exist to the given state. Users without differences are skipped. */
  readonly update?: boolean;
  /** With `update`, also changes accounts that users signed up with, but not their contacts and credentials. */
  readonly selfMade?: boolean;
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
  /** True if the user exists, and was made by an import, an operator or a server key. */
  isOwn(project: Project, id: string): Promise<boolean>;
  /** Reads all users in the order of their ids, in batches. Each batch is one snapshot. */
  exported(project: Project): AsyncIterable<readonly ExportedUser[]>;
}

interface Deps extends UpdateDeps, Pick<Runtime, 'db' | 'sql'> {
  readonly providers: Providers;
}

/** Creates the transfer of users. */
export function createUserTransfer(deps: Deps): UserTransfer {
  return bind(deps, { importSome, isOwn, exported });
}

/** Writes all users in one unit. If one cannot be written, the unit fails, and each user is written in its own unit. */
async function importSome(
  deps: Deps,
  by: AuditContext,
  project: Project,
  given: readonly ImportedUser[],
  options: ImportOptions,
): Promise<ImportedOutcome[]> {
  const run = async (unit: Unit) => {
    const known = new Set((await deps.providers.list(unit, project)).map(({ key }) => key));
    const outcomes: ImportedOutcome[] = [];
    for (const one of given) outcomes.push(await importOne(deps, unit, project, one, { ...options, known }));
    return outcomes;
  };
  try {
    return await (options.dryRun ? deps.db.rehearse(by, run) : deps.db.work(by, run));
  } catch (error) {
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
  { resume, update = false, selfMade = false, known }: ImportOptions & { readonly known: ReadonlySet<string> },
): Promise<ImportedOutcome> {
  const { users, factors } = deps;
  const foreign = one.identities.find(({ provider }) => !known.has(provider));
  if (foreign !== undefined)
    return new Failure('provider_not_found', {
      message: `This project has no provider with the key ${foreign.provider}, which an identity of the user needs.`,
    });
  const present = update ? await findPresent(deps, unit, project, one) : undefined;
  if (one.isDeleted && present === undefined) return new Failure('user_not_found', { message: 'The user is deleted.' });
  if (present !== undefined)
    return isSelfMade(present) && !selfMade ? refusedMerge(present) : updateOne(deps, unit, project, present, one);
  const { id: requested, email = null, phone = null, name = '', hash, totp, identities: linked, ...further } = one;
  const { isDeleted: _, ...imported } = further;
  const id = users.idOf(requested);
  let user: UserRecord;
  try {
    const passwordHash = storedHash(users, project, id, hash);
    user = await users.create(unit, project.id, { id, email, phone, name, passwordHash, imported });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const other =
      resume && error.type === 'user_already_exists' ? await findPresent(deps, unit, project, one) : undefined;
    if (other === undefined) return error;
    return isSelfMade(other) ? refusedMerge(other) : 'skipped';
  }
  if (totp !== undefined) await factors.adoptTotp(unit, project, user, totp);
  await linkAll(deps, unit, project, id, linked);
  return 'created';
}

/** Refuses to merge a user into an account that is not imported. Whoever signed up with it has its password and sessions. */
function refusedMerge({ id }: UserRecord): Failure {
  return new Failure('user_already_exists', {
    message: `The account ${id} was not imported: somebody signed up with it, or has replaced its address and number. Merged, it would be the account of both. If it belongs to the user of the source, run svc user update ${id} --email ADDRESS and import again; otherwise import into a new project.`,
  });
}

/** Throws Failure `user_already_exists` if another user has one of the identities. */
async function linkAll(
  { identities }: Deps,
  unit: Unit,
  project: Project,
  userId: string,
  linked: ImportedUser['identities'],
): Promise<void> {
  for (const identity of linked)
    if ((await identities.link(unit, project, userId, { ...identity, tokens: noTokens })) === undefined)
      throw new Failure('user_already_exists', {
        message: `Another user has the account ${identity.providerUid} at ${identity.provider}.`,
      });
}

/** Changes an existing user to the given state. */
async function updateOne(
  deps: Deps,
  unit: Unit,
  project: Project,
  seen: UserRecord,
  given: ImportedUser,
): Promise<ImportedOutcome> {
  const { id } = seen;
  const { users } = deps;
  if ((await differencesOf(deps, unit, project, seen, given)) === undefined) return 'skipped';
  const user = await users.lockById(unit, project.id, id);
  const differences = user && (await differencesOf(deps, unit, project, user, given));
  if (user === undefined || differences === undefined) return 'skipped';
  if (isSelfMade(user) && changesAccess(differences)) return refusedMerge(user);
  const password = {
    storedHash: storedHash(users, project, id, differences.hash),
    passwordUpdate: given.passwordUpdate,
  };
  await updateUser(deps, unit, project, user, differences, password);
  await linkAll(deps, unit, project, id, differences.identities);
  return 'updated';
}

function storedHash(users: Users, project: Project, id: string, hash: ImportedUser['hash']): string | null {
  if (hash === undefined) return null;
  return typeof hash === 'string' ? users.adoptOwnHash(project, { id }, hash) : users.adoptHash(project, { id }, hash);
}

/** The user with the same id, or with the same address or number if the file has no id. */
async function findPresent(
  { users }: Deps,
  unit: Unit,
  project: Project,
  { id, email = null, phone = null }: ImportedUser,
) {
  if (id !== uniqueId) return users.find(unit, project.id, id);
  const byEmail = email === null ? undefined : await users.findByEmail(unit, project.id, email);
  return byEmail ?? (phone === null ? undefined : users.findByPhone(unit, project.id, phone));
}

async function isOwn({ db, users }: Deps, project: Project, id: string): Promise<boolean> {
  const found = await users.find(db, project.id, id);
  return found !== undefined && !isSelfMade(found);
}

/** Users of one batch. */
const usersOfPage = 200;

async function* exported({ db, sql, users, factors, identities }: Deps, project: Project) {
  for (let after = ''; ; ) {
    const page = await db.snapshot(async (reader) => {
      const rows = await reader.all(sql`
        select ${userTable.row} from users where project_id = ${project.id} and id > ${after}
        order by id limit ${usersOfPage}`);
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
