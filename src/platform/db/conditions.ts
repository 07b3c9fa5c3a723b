/** A failure reported by a database, with a message for operators. */
interface Condition {
  /** Codes of sqlite3, SQLSTATEs, network codes of Node, and own codes for failures that have none. */
  readonly codes: readonly string[];
  /** The `type` of the error that a command prints. */
  readonly type: string;
  /** A sentence without its full stop: the code follows in brackets. */
  readonly message: string;
  readonly next: string;
  /** `unusable`: a restart does not help. */
  readonly outcome?: 'unusable';
}

const filesBeside = 'it, its directory and the files beside it that end with -wal and -shm have to be writable';
const settings = 'svc config show --origin shows SVC_DATABASE_URL';

/** The one table of database failures. `fromSqlite` and `fromPostgres` map it to the response of a client. */
export const conditions: readonly Condition[] = [
  {
    codes: ['SQLITE_FULL', '53100'],
    type: 'database_full',
    message: 'The disk of the database is full',
    next: 'make room on that disk; nothing has to be restarted',
  },
  {
    codes: ['25006'],
    type: 'database_read_only',
    message: 'The database is read-only: a standby, or set so by its operator',
    next: `let SVC_DATABASE_URL name the primary, or look at default_transaction_read_only; ${settings}`,
  },
  {
    codes: ['SQLITE_READONLY'],
    type: 'database_file_read_only',
    message: 'The file of the database cannot be written',
    next: `run the command as the owner of the file; ${filesBeside}`,
  },
  {
    codes: ['SQLITE_READONLY_DBMOVED'],
    type: 'database_file_moved',
    message: 'The file of the database was moved, deleted or replaced while it was in use',
    next: 'put it back; if it was replaced on purpose, restart the server',
  },
  {
    codes: ['log_without_file'],
    type: 'database_file_gone',
    message: 'The file of the database is gone, but its log is there and holds the newest writes',
    next: 'put the file back as it was; otherwise move the log away without deleting it, and run svc backup restore FILE',
    outcome: 'unusable',
  },
  {
    codes: ['SQLITE_CANTOPEN'],
    type: 'database_file_unopened',
    message: 'The file of the database cannot be opened',
    next: `run the command as the owner of the file; ${filesBeside}; ${settings}`,
  },
  {
    codes: ['SQLITE_IOERR', '58030'],
    type: 'database_disk_failed',
    message: 'The disk of the database reports an error',
    next: 'look at the log of the kernel and at the disk',
  },
  {
    codes: ['SQLITE_BUSY', 'SQLITE_LOCKED', 'SQLITE_SCHEMA', '55P03', '40001', '40P01', 'waited_too_long'],
    type: 'database_busy',
    message: 'The database is busy: another program holds a lock',
    next: 'try again; if it stays so, end the program that holds the lock',
  },
  {
    codes: ['57014'],
    type: 'database_too_slow',
    message: 'The database took too long for a statement',
    next: 'try again when there is less load',
  },
  {
    codes: ['53300'],
    type: 'database_connections_exhausted',
    message: 'The database server has too many connections',
    next: 'close some, or raise max_connections of the server',
  },
  {
    codes: ['3D000'],
    type: 'database_missing',
    message: 'There is no such database on the server',
    next: `create it with createdb; ${settings}`,
  },
  {
    codes: ['28P01', '28000'],
    type: 'database_login_refused',
    message: 'The database server refuses the user or the password',
    next: `correct user and password, or pg_hba.conf of the server; ${settings}`,
  },
  {
    codes: ['42501'],
    type: 'database_forbidden',
    message: 'The user of the database may not do this',
    next: 'make it the owner of the database, or grant it ALL on the schema public',
    outcome: 'unusable',
  },
  {
    codes: ['57P01', '57P02', '57P03'],
    type: 'database_starting',
    message: 'The database server is starting or going down',
    next: 'try again in a moment; svc serve --wait-for-db 30 waits for it',
  },
  {
    codes: ['26000', '42P05'],
    type: 'database_pooler_unprepared',
    message: 'A connection pooler mixes up prepared statements',
    next: 'set SVC_PG_PREPARED=auto',
  },
  {
    codes: ['08P01'],
    type: 'database_pooler_refuses',
    message: 'The connection pooler or the database refuses a parameter of the connection',
    next: `take options=… out of SVC_DATABASE_URL, or add the parameter to ignore_startup_parameters of the pooler; ${settings}`,
  },
  {
    codes: ['no_tls'],
    type: 'database_without_tls',
    message: 'The database server does not encrypt connections',
    next: `set ssl = on in its postgresql.conf, or take sslmode out of SVC_DATABASE_URL; ${settings}`,
  },
  {
    codes: [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'CERT_HAS_EXPIRED',
    ],
    type: 'database_certificate_refused',
    message: 'The certificate of the database server does not verify',
    next: `name its CA with sslrootcert=FILE in SVC_DATABASE_URL, and the host as in the certificate; ${settings}`,
  },
  {
    codes: ['ENOTFOUND', 'EAI_AGAIN'],
    type: 'database_host_unknown',
    message: 'The name of the database server is not known',
    next: `correct the host; ${settings}`,
  },
  {
    codes: ['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'no_answer'],
    type: 'database_host_unreachable',
    message: 'The database server does not answer',
    next: `is the network there, and are host and port right? ${settings}`,
  },
  {
    codes: ['ECONNREFUSED'],
    type: 'database_unreachable',
    message: 'No database server listens there',
    next: `start it, or correct host and port; ${settings}`,
  },
  {
    codes: ['SQLITE_CORRUPT', 'SQLITE_NOTADB'],
    type: 'database_damaged',
    message: 'The database file is damaged or not an SQLite file',
    next: 'restore it from a backup, or correct SVC_DATABASE_URL',
    outcome: 'unusable',
  },
];

const byCode = new Map(conditions.flatMap((condition) => condition.codes.map((code) => [code, condition] as const)));

/** The condition of a code, if the table has it. */
export function conditionOf(code: string): Condition | undefined {
  return byCode.get(code);
}
