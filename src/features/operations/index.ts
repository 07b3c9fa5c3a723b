// The area `operations`: what operators do with an installation as a whole.

export {
  BackupError,
  type BackupHead,
  type BackupPlace,
  backupArchive,
  backupEntries,
  backupKey,
  createBackupFeature,
  createBackups,
  defaultLocation,
  type LoadedBackup,
  type MadeBackup,
  newBackupName,
  openPlace,
  readHead,
  removeRemains,
  restoreBackup,
  UnknownFormatError,
  UnknownSchemaError,
} from './backup/index.js';
export {
  CopyError,
  copyDatabase,
  copyState,
  digestDatabase,
  type TableDigest,
} from './copy/index.js';
