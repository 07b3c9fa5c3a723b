import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { uniqueId } from '#src/contract/shapes.js';
import {
  type Collection,
  type ImportedDocument,
  shownRelations,
  statedRelations,
  type TransferPlace,
} from '#src/features/index.js';
import { retry } from '#src/platform/runtime/retry.js';
import type { RefusedLine } from '../document-records/refused-lines.js';
import type { ApplianceCall } from '../line/command.js';
import type { MadeSecret } from '../project-file/apply.js';
import type { Progress } from '../terminal/progress.js';
import { storedTime } from '../user-records/draft.js';
import { batchesOf } from './batches.js';
import { garbageCollector } from './garbage-collector.js';
import { createPermissionFilter, type PermissionFilter } from './permission-filter.js';
import { importSchema } from './schema.js';
import type { ImportSource, Read, SourceFile, SourceMembership, Unsupported } from './source.js';
import { createKindTally, type KindCounts, type KindTally, type RecordOutcome } from './tally.js';

/** Options of an import of a whole project. */
interface ImportOptions {
  /** Compares and writes nothing. */
  readonly dryRun: boolean;
  /** Leaves users, memberships, documents and files that exist as they are. */
  readonly resume: boolean;
  readonly progress: Progress;
  readonly report: (refused: RefusedLine) => Promise<void>;
  readonly signal: AbortSignal;
}

/** The result of an import. */
interface ImportReport {
  readonly kinds: readonly KindCounts[];
  readonly unsupported: readonly Unsupported[];
  readonly secrets: readonly MadeSecret[];
}

const usersOfUnit = { records: 100, characters: 1_000_000 };
const membershipsOfUnit = { records: 50, characters: 1_000_000 };
const documentsOfUnit = { records: 200, characters: 1_000_000 };
/** Records after which garbage is collected. */
const recordsOfCollection = 2000;
/** Attempts to read a file whose connection breaks. */
const fileAttempts = 3;

/** The state of an import. */
interface Run extends ImportOptions {
  readonly call: ApplianceCall;
  readonly project: Project;
  readonly source: ImportSource;
  readonly tally: KindTally;
  readonly permissions: PermissionFilter;
  /** Called after each batch. */
  readonly advance: (kind: string, records: number) => void;
}

/**
 * Writes a source into a project: users, schema, memberships, documents, their relationships, files. Each record is compared with the
 * existing one, and only differences are written, so an import can be repeated and goes on after an interruption. Throws CommandError if the
 * source cannot be read.
 */
export async function importAll(
  call: ApplianceCall,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportReport> {
  const project = await call.findProject();
  const tally = createKindTally(options.report);
  const collect = garbageCollector();
  let sinceCollection = 0;
  const permissions = createPermissionFilter(options.report);
  const run: Run = {
    ...options,
    permissions,
    call,
    project,
    source,
    tally,
    advance: (kind, records) => {
      const done = tally.kinds().find((one) => one.kind === kind)?.read ?? 0;
      sinceCollection += records;
      if (sinceCollection >= recordsOfCollection) {
        collect();
        sinceCollection = 0;
      }
      const failed = tally.kinds().reduce((sum, one) => sum + one.failed, 0);
      options.progress.show(`${done} ${kind}, ${failed} failed`);
    },
  };
  const secrets: MadeSecret[] = [];
  const leftOut: Unsupported[] = [];
  for (const { kind, id, type = 'record_invalid', problem } of source.unreadSchema ?? [])
    await tally.fail(kind, id, type, problem);
  try {
    // First, because permissions of refused users are left out everywhere.
    leftOut.push(...(await importUsers(run)));
    const schema = await permissions.ofSchema(source.schema);
    const made = await importSchema({ ...call, projectId: project.id }, schema, source.teamTimes, tally, options);
    secrets.push(...made.secrets);
    leftOut.push(...made.onlyHere);
    await importMemberships(run);
    await importDocuments(run, 'values');
    await importDocuments(run, 'relationships');
    leftOut.push(...(await importFiles(run)));
  } catch (error) {
    // A signal also ends the requests to the source.
    if (!options.signal.aborted) throw error;
  }
  const unsupported = [...source.unsupported(), ...leftOut, ...permissions.unsupported()];
  return { kinds: tally.kinds(), unsupported, secrets };
}

/** Imports the users. Identities of providers that the project does not have are left out and returned. */
async function importUsers(run: Run): Promise<Unsupported[]> {
  const { call, project, source, tally, permissions, dryRun, resume, signal, advance } = run;
  const { features, runtime } = call;
  const known = new Set((await features.providers.list(runtime.db, project)).map(({ key }) => key));
  const unlinked = new Map<string, number>();
  const kind = 'users';
  for await (const batch of batchesOf(source.users(), usersOfUnit, signal)) {
    const given = batch.flatMap(({ user }) => {
      if (user === undefined) return [];
      for (const { provider } of user.identities)
        if (!known.has(provider)) unlinked.set(provider, (unlinked.get(provider) ?? 0) + 1);
      return { ...user, identities: user.identities.filter(({ provider }) => known.has(provider)) };
    });
    const options = { resume, update: !resume, dryRun };
    const by = call.auditContext(project.id);
    const outcomes = given.length === 0 ? [] : await features.userTransfer.importSome(by, project, given, options);
    for (const { line, user, id: read, problem, type = 'user_invalid' } of batch) {
      const outcome = user && outcomes.shift();
      const known = user === undefined || user.id === uniqueId ? read : user.id;
      const id = known ?? `line ${line}`;
      const isRefused = outcome === undefined || outcome instanceof Failure;
      if (isRefused && known !== undefined && !(await features.userTransfer.isOwn(project, known)))
        permissions.refuse(known);
      if (outcome === undefined) await tally.fail(kind, id, type, problem ?? '');
      else if (outcome instanceof Failure) await tally.fail(kind, id, outcome.type, outcome.message);
      else tally.add(kind, outcome === 'updated' ? 'changed' : outcome);
    }
    advance(kind, batch.length);
  }
  return [...unlinked].map(([provider, number]) => ({
    kind: `identities at ${provider}`,
    count: number,
    reason: `The project has no provider with the key ${provider}. Add it with svc provider add, then run the import again.`,
  }));
}

async function importMemberships(run: Run): Promise<void> {
  const { call, project, source, permissions, signal } = run;
  const { membershipImport } = call.features;
  const withUser = (read: Read<SourceMembership>): Read<SourceMembership> =>
    'problem' in read || !permissions.isRefused(read.userId)
      ? withTimes(read)
      : { id: read.id, problem: `Its user ${read.userId} was not imported.` };
  for await (const batch of batchesOf(source.memberships(), membershipsOfUnit, signal))
    await importBatch(run, 'memberships', batch.map(withUser), (given) =>
      membershipImport.importSome(call.auditContext(project.id), project, given, keeping(run)),
    );
}

const keeping = ({ resume, dryRun }: Run) => ({ keep: resume, dryRun });

/** Converts the times of a membership to their stored form. */
function withTimes(read: Read<SourceMembership>): Read<SourceMembership> {
  if ('problem' in read) return read;
  const { id } = read;
  const [invited, joined] = [storedTime(read.invited), read.joined === null ? null : storedTime(read.joined)];
  if (invited === undefined || joined === undefined) return { id, problem: 'The membership has an invalid time.' };
  return { ...read, invited, joined };
}

const uncreated = ['team_not_found', 'user_not_found', 'storage_bucket_not_found'];

/** Writes a batch, and counts the outcome of each record. */
async function importBatch<T extends { readonly id: string }>(
  { tally, advance, dryRun }: Run,
  kind: string,
  batch: readonly Read<T>[],
  write: (given: T[]) => Promise<readonly (RecordOutcome | 'absent' | Failure)[]>,
  labelOf: (id: string) => string = (id) => id,
): Promise<void> {
  const given = batch.flatMap((read) => ('problem' in read ? [] : [read]));
  const outcomes = given.length === 0 ? [] : [...(await write(given))];
  for (const read of batch) {
    if ('problem' in read) {
      const { id, type = 'record_invalid', problem } = read;
      await tally.fail(kind, type === 'record_invalid' ? labelOf(id) : id, type, problem);
      continue;
    }
    const outcome = outcomes.shift() ?? 'absent';
    // A dry run has created no teams, users and buckets.
    if (dryRun && outcome instanceof Failure && uncreated.includes(outcome.type)) tally.add(kind, 'created');
    else if (outcome instanceof Failure) await tally.fail(kind, labelOf(read.id), outcome.type, outcome.message);
    else if (outcome !== 'absent') tally.add(kind, outcome);
  }
  advance(kind, batch.length);
}

/**
 * Imports the documents of all collections without their relationships, or only the relationships. Related documents can come later in the
 * source, so all documents are written first.
 */
async function importDocuments(run: Run, part: 'values' | 'relationships'): Promise<void> {
  const { call, project, source, permissions, dryRun, signal } = run;
  const { databases, transfer } = call.features;
  for (const { $id: databaseId, collections = [] } of source.schema.databases ?? [])
    for (const { $id: collectionId } of collections) {
      if (signal.aborted) return;
      const path = { projectId: project.id, databaseId, collectionId };
      const collection = await databases.getCollection(call.runtime.db, path).catch((error: unknown) => {
        if (error instanceof Failure) return undefined;
        throw error;
      });
      if (part === 'relationships' && (collection === undefined || statedRelations(collection).length === 0)) continue;
      if (collection === undefined && !dryRun) {
        const message = 'The collection could not be created, so its documents are not imported.';
        await run.tally.fail('documents', `${databaseId}/${collectionId}`, 'collection_not_found', message);
        continue;
      }
      const place: TransferPlace = { project, databaseId, collectionId };
      const by = () => call.auditContext(project.id);
      const write = async (given: ImportedDocument[]) => {
        if (collection === undefined) return given.map(() => 'created' as const);
        if (part === 'values' && dryRun)
          return rehearsed(collection, given, (known) => transfer.matchSome(place, by(), known, keeping(run)));
        if (part === 'values') return transfer.matchSome(place, by(), given, keeping(run));
        return transfer.matchRelations(place, by(), given, keeping(run));
      };
      const kind = part === 'values' ? 'documents' : 'relationships';
      const records = source.documents(databaseId, collectionId, part);
      for await (const batch of batchesOf(records, documentsOfUnit, signal)) {
        const labelOf = (id: string) => `${databaseId}/${collectionId}/${id}`;
        const kept: Read<ImportedDocument>[] = [];
        for (const one of batch)
          if ('problem' in one) kept.push(one);
          else if (one.permissions === undefined) kept.push(one);
          else kept.push({ ...one, permissions: await permissions.ofItem(labelOf(one.id), one.permissions) });
        // The first pass has reported records with problems.
        const read = part === 'values' ? kept : kept.filter((one) => !('problem' in one) || one.type !== undefined);
        await importBatch(run, kind, read, write, labelOf);
      }
    }
}

/** The outcomes of a dry run, which has not created the new attributes. Documents with values of them would change. */
async function rehearsed(
  collection: Collection,
  given: readonly ImportedDocument[],
  match: (known: ImportedDocument[]) => Promise<readonly (RecordOutcome | 'absent' | Failure)[]>,
) {
  const keys = new Set([...collection.attributes, ...shownRelations(collection)].map(({ key }) => key));
  const isNew = ([key, value]: [string, unknown]) => !keys.has(key) && value !== null && value !== undefined;
  const outcomes = await match(
    given.map((one) => ({
      ...one,
      data: Object.fromEntries(Object.entries(one.data ?? {}).filter(([key]) => keys.has(key))),
    })),
  );
  return outcomes.map((outcome, at) =>
    outcome === 'skipped' && Object.entries(given[at]?.data ?? {}).some(isNew) ? 'changed' : outcome,
  );
}

/** Imports the files. Those without content are left out and returned. */
async function importFiles(run: Run): Promise<Unsupported[]> {
  const { project, source, signal, report } = run;
  const kind = 'files';
  let empty = 0;
  for (const { $id: bucketId } of source.schema.buckets ?? []) {
    if (signal.aborted) break;
    const labelOf = (id: string) => `${bucketId}/${id}`;
    const write = async (files: SourceFile[]) =>
      Promise.all(files.map((file) => importFile(run, { project, bucketId }, file)));
    for await (const read of source.files(bucketId)) {
      if (signal.aborted) break;
      const file = await preparedFile(run, labelOf(read.id), read);
      if (!('problem' in file) && file.size === 0) {
        empty += 1;
        const message = 'The file has no content. The service stores no such files.';
        await report({ kind, id: labelOf(file.id), type: 'storage_file_empty', message });
      } else await importBatch(run, kind, [file], write, labelOf);
    }
  }
  const reason = 'They have no content, and the service stores no such files. The report lists them.';
  return empty === 0 ? [] : [{ kind: 'empty files', count: empty, reason }];
}

/** Converts the times of a file to their stored form, and leaves out permissions that must not be granted. */
async function preparedFile({ permissions }: Run, label: string, read: Read<SourceFile>): Promise<Read<SourceFile>> {
  if ('problem' in read) return read;
  const [createdAt, updatedAt] = [storedTime(read.createdAt), storedTime(read.updatedAt)];
  if (createdAt === undefined || updatedAt === undefined)
    return { id: read.id, problem: 'The file has an invalid time.' };
  return { ...read, createdAt, updatedAt, permissions: await permissions.ofItem(label, read.permissions) };
}

async function importFile(
  run: Run,
  place: Pick<TransferPlace, 'project'> & { readonly bucketId: string },
  file: SourceFile,
): Promise<RecordOutcome | Failure> {
  const { fileTransfer } = run.call.features;
  const imported = retry(
    () => fileTransfer.importOne(place, run.call.auditContext(place.project.id), file, keeping(run)),
    (error, attempt) => error instanceof Failure && error.type === 'general_unavailable' && attempt < fileAttempts,
  );
  return imported.catch((error: unknown) => {
    if (error instanceof Failure) return error;
    throw error;
  });
}
