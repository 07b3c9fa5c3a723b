export { BackupError, type BackupSummary, backupEntries, fingerprintOf } from './create.js';
export { type LoadedBackup, readHead, UnknownFormatError } from './load.js';
export type { BackupHead } from './manifest.js';
export { restoreBackup, UnknownSchemaError } from './restore.js';
