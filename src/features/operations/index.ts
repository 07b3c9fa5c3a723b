// The area `operations`: what operators do with an installation as a whole.

export {
  BackupError,
  type BackupHead,
  type BackupSummary,
  backupEntries,
  fingerprintOf,
  type LoadedBackup,
  readHead,
  restoreBackup,
  UnknownFormatError,
  UnknownSchemaError,
} from './backup/index.js';
