import { createHash } from 'node:crypto';
import { DamagedArchiveError, entriesOf, parseLines, wholeOf } from '#src/platform/archive/reader.js';
import type { ArchiveEntry } from '#src/platform/archive/writer.js';
import type { Connection } from '#src/platform/db/driver.js';
import {
  continueSequence,
  insertRows,
  type NeutralRow,
  primaryKey,
  type TableShape,
} from '#src/platform/db/neutral-rows.js';
import type { Sql } from '#src/platform/db/query.js';
import {
  type BackupHead,
  type BackupManifest,
  type BackupPart,
  folders,
  formatVersion,
  hashed,
  headName,
  headSchema,
  manifestName,
  manifestSchema,
} from './manifest.js';
import {
  collectionStorages,
  createCollectionTables,
  isDocuments,
  isOfCollection,
  markUnbuiltWords,
  shapesIn,
} from './tables.js';

/** The database and the file store that a backup is loaded into. */
interface LoadTarget {
  readonly sql: Sql;
  /** Inside one transaction, on a database without tables. */
  readonly connection: Connection;
  /** Applies the named steps of the schema. Throws if one is unknown. */
  migrate(steps: readonly string[]): Promise<void>;
  /** Stores the bytes of a file. */
  file(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
}

/** The head and the manifest of a loaded backup. */
export interface LoadedBackup {
  readonly head: BackupHead;
  readonly manifest: BackupManifest;
}

/**
 * Loads a backup and compares every entry with its digest. Throws DamagedArchiveError, and UnknownFormatError if a later version made it.
 */
export async function loadBackup(bytes: AsyncIterable<Uint8Array>, target: LoadTarget): Promise<LoadedBackup> {
  const entries = entriesOf(bytes);
  const first = await entries.next();
  if (first.done) throw new DamagedArchiveError('it is empty');
  const head = await readHead(first.value);
  await target.migrate(head.schema);
  const rows = createRowLoader(target, head);
  const found: BackupPart[] = [];
  const counts = new Map(head.tables.map(({ name }) => [name, 0]));
  let files = 0;
  let manifest: BackupManifest | undefined;
  for await (const entry of entries) {
    if (manifest !== undefined) throw new DamagedArchiveError('something follows its manifest');
    const { name } = entry;
    if (name === manifestName) manifest = parsed(manifestSchema, await wholeOf(entry));
    else if (name.startsWith(`${folders.files}/`)) {
      const digest = createHash('sha256');
      await target.file(name.slice(folders.files.length + 1), hashed(entry.bytes, digest));
      found.push({ name, size: entry.size, sha256: digest.digest('hex') });
      files += 1;
    } else {
      const table = name.split('/')[1] ?? '';
      const part = await wholeOf(entry);
      found.push({ name, size: part.length, sha256: createHash('sha256').update(part).digest('hex') });
      const values = (await parseLines(part)) as NeutralRow[];
      await rows.insert(table, values);
      counts.set(table, (counts.get(table) ?? 0) + values.length);
    }
  }
  if (manifest === undefined) throw new DamagedArchiveError('its end is missing');
  requireEqual(manifest, found, counts, head.hasFiles ? files : manifest.files.count);
  await rows.finish(manifest);
  return { head, manifest };
}

/** The first entry of a backup. Throws DamagedArchiveError and UnknownFormatError. */
export async function readHead(entry: ArchiveEntry): Promise<BackupHead> {
  if (entry.name !== headName) throw new DamagedArchiveError('it is not a backup of svc');
  const head = parsed(headSchema, await wholeOf(entry));
  if (head.format > formatVersion) throw new UnknownFormatError(head.version);
  return head;
}

/** A later version of svc made the backup. */
export class UnknownFormatError extends Error {
  constructor(version: string) {
    super(`svc ${version} made this backup in a later format`);
    this.name = 'UnknownFormatError';
  }
}

function parsed<T>(schema: { parse(value: unknown): T }, bytes: Buffer): T {
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch (cause) {
    throw new DamagedArchiveError('its description is damaged', { cause });
  }
}

function requireEqual(
  { parts, tables, files }: BackupManifest,
  found: readonly BackupPart[],
  counts: ReadonlyMap<string, number>,
  countedFiles: number,
): void {
  const other = parts.find(({ name, size, sha256 }, at) => {
    const part = found[at];
    return part === undefined || part.name !== name || part.size !== size || part.sha256 !== sha256;
  });
  if (other !== undefined) throw new DamagedArchiveError(`the part ${other.name} differs from its digest`);
  if (found.length !== parts.length) throw new DamagedArchiveError('it has more parts than its manifest');
  const table = tables.find(({ name, rows }) => counts.get(name) !== rows);
  if (table !== undefined) throw new DamagedArchiveError(`the table ${table.name} has another number of rows`);
  if (countedFiles !== files.count) throw new DamagedArchiveError('it has another number of files');
}

/** Inserts rows, and creates the tables of collections once their rows are known. */
function createRowLoader({ sql, connection }: LoadTarget, { tables }: BackupHead) {
  const { dialect } = sql;
  const listed = new Map<string, TableShape>(tables.map((table) => [table.name, table]));
  const keys = new Map<string, readonly string[]>();
  let shapeOf: ((table: TableShape) => TableShape) | undefined;
  let hasCollections = false;
  /** Tables of collections come after those of the schema. */
  const createCollections = async (): Promise<void> => {
    if (hasCollections) return;
    hasCollections = true;
    await createCollectionTables(connection, dialect);
    await markUnbuiltWords(connection, sql);
    shapeOf = undefined;
  };
  return {
    insert: async (name: string, rows: readonly NeutralRow[]): Promise<void> => {
      const shape = listed.get(name);
      if (shape === undefined) throw new DamagedArchiveError(`it has rows of an unknown table: ${name}`);
      if (isOfCollection(shape)) await createCollections();
      shapeOf ??= await shapesIn(connection, dialect);
      const key = keys.get(name) ?? (await primaryKey(connection, dialect, name));
      keys.set(name, key);
      for (const query of insertRows(dialect, shapeOf(shape), key, rows)) await connection.run(query);
    },
    finish: async ({ sequences }: BackupManifest): Promise<void> => {
      await createCollections();
      for (const { indexes } of await collectionStorages(connection, dialect))
        for (const query of indexes) await connection.run(query);
      for (const [name, last] of Object.entries(sequences))
        if (isDocuments({ name }))
          for (const query of continueSequence(dialect, name, last)) await connection.run(query);
    },
  };
}
