import type { Hash } from 'node:crypto';
import { z } from 'zod';
import type { ArchiveEntry } from '#src/platform/archive/writer.js';

/** Version of the format. A program restores backups of its own version and of earlier ones. */
export const formatVersion = 1;

/** Name of the first entry of a backup, with its version, schema and tables. */
export const headName = 'backup.json';
/** Name of the last entry: counts and digests. */
export const manifestName = 'manifest.json';
/** Folders of rows and of the bytes of files. */
export const folders = { rows: 'rows', files: 'files' } as const;

const kind = z.enum(['text', 'integer', 'double', 'boolean']);

/** The first entry of a backup. */
export const headSchema = z.object({
  format: z.int().positive(),
  /** Version of the program. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  database: z.enum(['sqlite', 'postgres']),
  /** The steps of the schema that are applied. */
  schema: z.array(z.string()).min(1),
  /** Fingerprint of the master key; null if the installation has not used it yet. */
  masterKey: z.string().nullable(),
  /** Sorted so that each table follows those that it refers to. */
  tables: z.array(
    z.object({
      name: z.string().regex(/^[a-z][a-z0-9_]*$/),
      columns: z.array(z.object({ name: z.string().regex(/^[a-z][a-z0-9_]*$/), kind })),
    }),
  ),
  /** Settings without secrets, for a new svc.env. */
  settings: z.record(z.string(), z.string()),
  /** True if the bytes of files are in the backup; otherwise only the list of objects. */
  hasFiles: z.boolean(),
});
/** The first entry of a backup. */
export type BackupHead = z.output<typeof headSchema>;

const part = z.object({ name: z.string(), size: z.int(), sha256: z.string() });

/** The last entry of a backup. */
export const manifestSchema = z.object({
  tables: z.array(z.object({ name: z.string(), rows: z.int() })),
  /** The last sequence given to a document, by table. */
  sequences: z.record(z.string(), z.string()),
  files: z.object({ count: z.int(), bytes: z.int() }),
  /** Every other entry but the first. */
  parts: z.array(part),
});
/** The last entry of a backup. */
export type BackupManifest = z.output<typeof manifestSchema>;
/** An entry with its digest. */
export type BackupPart = z.output<typeof part>;

/** The same bytes, which are added to a digest as they are read. */
export async function* hashed(bytes: ArchiveEntry['bytes'], digest: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    digest.update(piece);
    yield piece;
  }
}
