import type { Instant } from '#src/contract/shapes.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { isArchiveName, isOwnName, timeOf } from './names.js';
import type { BackupPlace } from './place.js';
import { type BackupRow, type BackupStore, backups, createBackupStore } from './store.js';

/** A backup in a place. */
export interface ListedBackup extends Pick<BackupRow, 'file' | 'createdAt' | 'bytes' | 'verifiedAt'> {
  /** Its name in the place. */
  readonly name: string;
  /** True if this installation has made it under a name of its own choice. */
  readonly isOwn: boolean;
}

/** The records of backups. */
export interface Backups {
  /** The last backup that succeeded, also if its archive is gone; undefined if there is none. */
  lastBackup(): Promise<Pick<BackupRow, 'createdAt' | 'file' | 'bytes' | 'verifiedAt'> | undefined>;
  /** Backups in a place, the newest first. Throws FileStoreError. */
  list(place: BackupPlace): Promise<ListedBackup[]>;
  /** Paths or URLs of backups that this installation has made in a place and that are not there, the newest first. Throws FileStoreError. */
  missing(place: BackupPlace): Promise<string[]>;
  /** Records a new backup. Skipped if the database refuses writes. */
  add(by: AuditContext, made: Pick<BackupRow, 'file' | 'createdAt' | 'bytes'>): Promise<void>;
  /** Records that an archive was verified, whoever has made it. Skipped if the database refuses writes. */
  verified(by: AuditContext, archive: Pick<BackupRow, 'file' | 'createdAt' | 'bytes'>): Promise<void>;
  /** Removes the record of an archive. */
  remove(by: AuditContext, file: string): Promise<void>;
}

type Deps = Pick<Runtime, 'db' | 'sql' | 'clock' | 'migrator'>;

/** Creates the records of backups. */
export function createBackups({ db, sql, clock, migrator }: Deps): Backups {
  const store: BackupStore = createBackupStore(sql);
  const rows = async (): Promise<Map<string, BackupRow>> => {
    if (!(await hasTable(migrator))) return new Map();
    return new Map((await db.all(store.list())).map((row) => backups.decode(row)).map((row) => [row.file, row]));
  };
  return {
    lastBackup: async () => {
      if (!(await hasTable(migrator))) return undefined;
      const row = await db.one(store.last());
      if (row === undefined) return undefined;
      const { createdAt, file, bytes, verifiedAt } = backups.decode(row);
      return { createdAt, file, bytes, verifiedAt };
    },
    list: async (place) => {
      const known = await rows();
      const found: ListedBackup[] = [];
      for await (const { key, size, modifiedAt } of place.store.list('', { isFlat: true })) {
        if (!isArchiveName(key) || key.includes('/')) continue;
        const file = place.fileOf(key);
        const row = known.get(file);
        // An archive of another size has taken the name since.
        const same = row?.bytes === size ? row : undefined;
        const createdAt: Instant = same?.createdAt ?? instantOf(timeOf(key) ?? modifiedAt);
        const isOwn = same?.isOwn === true && isOwnName(key);
        found.push({ name: key, file, createdAt, bytes: size, verifiedAt: same?.verifiedAt ?? null, isOwn });
      }
      return found.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    },
    missing: async (place) => {
      const own = [...(await rows()).values()].filter(({ file, isOwn }) => isOwn && isIn(place, file));
      const present = new Set<string>();
      for await (const { key } of place.store.list('', { isFlat: true })) present.add(place.fileOf(key));
      const newestFirst = own.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
      return newestFirst.map(({ file }) => file).filter((file) => !present.has(file));
    },
    add: async (by, made) => {
      if (!(await hasTable(migrator))) return;
      await db.note(by, async (unit) => void (await unit.run(store.add({ ...made, verifiedAt: null, isOwn: true }))));
    },
    verified: async (by, archive) => {
      if (!(await hasTable(migrator))) return;
      const row = { ...archive, verifiedAt: instantOf(clock.now()), isOwn: false };
      await db.note(by, async (unit) => void (await unit.run(store.verified(row))));
    },
    remove: (by, file) => db.work(by, async (unit) => void (await unit.run(store.remove(file)))),
  };
}

/** True if a path or URL is that of a backup in a place. */
function isIn(place: BackupPlace, file: string): boolean {
  const name = file.replace(/\?.*$/, '').split('/').at(-1) ?? '';
  return place.fileOf(name) === file;
}

/** False for a database without tables, and one that an earlier version of svc has made. */
async function hasTable(migrator: Runtime['migrator']): Promise<boolean> {
  return (await migrator.status()).applied.some((name) => name.startsWith('0050_'));
}
