import { createHash } from 'node:crypto';
import { type ArchiveEntry, linesIn } from '#src/platform/archive/writer.js';
import { fingerprintOf } from '#src/platform/crypto/key-ring.js';
import { backupHold } from '#src/platform/db/backup-hold.js';
import type { Connection, Driver } from '#src/platform/db/driver.js';
import { lastSequence, readRows, type TableShape } from '#src/platform/db/neutral-rows.js';
import { openSnapshot } from '#src/platform/db/open-snapshot.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Query } from '#src/platform/db/query.js';
import { type FileStore, ObjectNotFoundError } from '#src/platform/file-store/index.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import {
  type BackupHead,
  type BackupManifest,
  type BackupPart,
  folders,
  formatVersion,
  hashed,
  headName,
  manifestName,
} from './manifest.js';
import { BackupError, isDocuments, storedTables } from './tables.js';

/** Contents of a backup. */
export interface BackupSummary extends Pick<BackupManifest, 'tables' | 'files'> {
  readonly schema: string;
  readonly masterKey: string | null;
}

/** The parts of the platform that a backup uses. */
type BackupRuntime = Pick<Runtime, 'driver' | 'migrator' | 'files' | 'db' | 'sql' | 'clock'>;

/** Options of a backup. */
interface CreateOptions extends Pick<BackupHead, 'version' | 'createdAt' | 'settings' | 'hasFiles'> {
  readonly by: AuditContext;
  /** Called after each table and each thousand files. */
  onProgress(note: string): void;
}

/**
 * The entries of a backup: the rows of one snapshot of the database, then the bytes of the files that they name. Memory does not grow with
 * the database. `done` is set once the last entry was read. Throws BackupError, DatabaseError and FileStoreError.
 */
export async function* backupEntries(
  runtime: BackupRuntime,
  options: CreateOptions,
  done: (summary: BackupSummary) => void,
): AsyncGenerator<ArchiveEntry> {
  const { driver, migrator, files } = runtime;
  const { applied } = await migrator.status();
  const hold = createHold(runtime, options.by);
  await hold.renew();
  const { connection, release } = await openSnapshot(driver);
  const found: Found = { parts: [], tables: [], sequences: {} };
  let objects: readonly StoredPart[];
  let head: BackupHead;
  try {
    const tables = await storedTables(connection, { driver, migrator });
    const masterKey = await keyCheckOf(connection);
    const { onProgress, by: _, ...rest } = options;
    head = { format: formatVersion, ...rest, database: driver.dialect, schema: [...applied], masterKey, tables };
    yield jsonEntry(headName, head);
    for (const table of tables) {
      yield* rowEntries(connection, driver.dialect, table, found);
      await hold.renew();
      onProgress(`${table.name}: ${found.tables.at(-1)?.rows} rows`);
    }
    objects = await storedObjects(connection);
  } finally {
    await release();
  }
  if (options.hasFiles) yield* fileEntries(files, objects, found.parts, { ...options, hold });
  await hold.end();
  const bytes = objects.reduce((sum, { size }) => sum + size, 0);
  const manifest: BackupManifest = { ...found, files: { count: objects.length, bytes } };
  done({ tables: manifest.tables, files: manifest.files, schema: applied.at(-1) ?? '', masterKey: head.masterKey });
  yield jsonEntry(manifestName, manifest);
}

/** Counts and digests of the entries so far. */
type Found = Pick<BackupManifest, 'parts' | 'tables' | 'sequences'>;

async function* rowEntries(
  connection: Connection,
  dialect: Driver['dialect'],
  table: TableShape,
  found: Found,
): AsyncGenerator<ArchiveEntry> {
  let count = 0;
  const lines = readRows(connection, dialect, table);
  yield* linesIn(`${folders.rows}/${table.name}`, lines, ({ rows, ...part }) => {
    found.parts.push(part);
    count += rows;
  });
  found.tables.push({ name: table.name, rows: count });
  const last = isDocuments(table) ? await lastSequence(connection, dialect, table.name) : null;
  if (last !== null) found.sequences[table.name] = last;
}

function jsonEntry(name: string, value: unknown): ArchiveEntry {
  const bytes = Buffer.from(`${JSON.stringify(value, undefined, 1)}\n`);
  return { name, size: bytes.length, bytes: [bytes] };
}

/** Keeps the bytes of deleted files while a backup runs. */
interface Hold {
  renew(): Promise<void>;
  end(): Promise<void>;
}

/** How long a hold lasts after its backup was killed, and how often it is renewed. */
const holdMs = { lasts: 600_000, renewed: 60_000 } as const;

/** Creates the hold of a backup. A read-only database, such as a standby, has none. */
function createHold({ db, sql, clock }: BackupRuntime, by: AuditContext): Hold {
  let renewedAt = Number.NEGATIVE_INFINITY;
  const id = by.requestId;
  const change = (query: Query) => db.note(by, async (unit) => void (await unit.run(query)));
  return {
    renew: async () => {
      if (clock.now() < renewedAt + holdMs.renewed) return;
      renewedAt = clock.now();
      await change(backupHold.set(sql, id, instantOf(renewedAt + holdMs.lasts)));
    },
    end: () => change(backupHold.clear(sql, id, instantOf(clock.now()))),
  };
}

async function keyCheckOf(connection: Connection): Promise<string | null> {
  const [row] = await connection.all({ sql: "select value from installation where name = 'key_check'", values: [] });
  return row === undefined ? null : fingerprintOf(String(row.value));
}

interface StoredPart {
  readonly key: string;
  readonly size: number;
}

async function storedObjects(connection: Connection): Promise<readonly StoredPart[]> {
  const sql = `select key, cast(stored_size as text) as size from file_objects where state = 'stored' order by key`;
  return (await connection.all({ sql, values: [] })).map(({ key, size }) => ({ key: String(key), size: Number(size) }));
}

const noteEvery = 1000;

async function* fileEntries(
  files: FileStore,
  objects: readonly StoredPart[],
  parts: BackupPart[],
  { onProgress, hold }: Pick<CreateOptions, 'onProgress'> & { readonly hold: Hold },
): AsyncGenerator<ArchiveEntry> {
  for (const [at, { key, size }] of objects.entries()) {
    const digest = createHash('sha256');
    const name = `${folders.files}/${key}`;
    yield { name, size, bytes: hashed(await bytesOf(files, key), digest) };
    parts.push({ name, size, sha256: digest.digest('hex') });
    await hold.renew();
    if ((at + 1) % noteEvery === 0) onProgress(`files: ${at + 1} of ${objects.length}`);
  }
}

async function bytesOf(files: FileStore, key: string): Promise<AsyncIterable<Uint8Array>> {
  try {
    return await files.read(key);
  } catch (cause) {
    if (!(cause instanceof ObjectNotFoundError)) throw cause;
    throw new BackupError(
      `the bytes of a file are missing or were erased during the backup: ${key}; run svc files check`,
      { cause },
    );
  }
}
