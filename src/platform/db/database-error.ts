import { errorCatalog, Failure } from '#src/contract/errors.js';

/**
 * Kinds of errors that both databases share. `notWritable`: the database responds but refuses the write. `busy`: the longest allowed wait
 * for a lock is over. `reference`: a row refers to a missing one.
 */
type DatabaseErrorKind =
  | 'unique'
  | 'reference'
  | 'conflict'
  | 'timeout'
  | 'unavailable'
  | 'notWritable'
  | 'busy'
  | 'tooLong'
  | 'tooManyColumns'
  | 'other';

/** A database error without its text, which may contain SQL and values; `code` is the driver's own. */
export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;
  readonly code: string;
  /** A sentence for the client, after the message of the catalog. It must not contain data that the client did not send. */
  readonly advice: string | undefined;
  /** Private, so that printing the error does not print it. */
  readonly #index: string | undefined;

  constructor(kind: DatabaseErrorKind, code: string, { advice, index }: { advice?: string; index?: string } = {}) {
    super(`database error ${code} (${kind})`);
    this.name = 'DatabaseError';
    this.kind = kind;
    this.code = code;
    this.advice = advice;
    this.#index = index;
  }

  /** The index that refused a value, if the database reports it: its name (Postgres), or its columns with their table (SQLite). */
  get index(): string | undefined {
    return this.#index;
  }
}

/** Seconds after which a client may retry; absent for defects of the service and errors that features expect. */
const retryAfter: Partial<Record<DatabaseErrorKind, number>> = {
  conflict: 1,
  unavailable: 1,
  busy: 1,
  notWritable: 5,
};

/** The response to a database error that no feature expected; undefined if it is a defect of the service. */
export function failureOf(error: DatabaseError): Failure | undefined {
  if (error.kind === 'timeout') return timeoutOf(error);
  const seconds = retryAfter[error.kind];
  return seconds === undefined ? undefined : new Failure('general_unavailable', { retryAfter: seconds, cause: error });
}

function timeoutOf(error: DatabaseError): Failure {
  const type = 'general_query_timeout';
  if (error.advice === undefined) return new Failure(type, { cause: error });
  return new Failure(type, { message: `${errorCatalog[type].message} ${error.advice}`, cause: error });
}

/** The driver's own code of an error, without its message. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'unknown';
}

function indexIn(error: unknown, form: RegExp): { index?: string } {
  const index = error instanceof Error ? form.exec(error.message)?.[1] : undefined;
  return index === undefined ? {} : { index };
}

function constraintOf(error: unknown): { index?: string } {
  const name = error instanceof Error && 'constraint' in error ? error.constraint : undefined;
  return typeof name === 'string' ? { index: name } : {};
}

/** Every result code of SQLite except OK. `SCHEMA`: the schema kept changing while the statement was prepared. */
const sqliteKinds: Readonly<Record<string, DatabaseErrorKind>> = {
  SQLITE_TOOBIG: 'tooLong',
  SQLITE_INTERRUPT: 'timeout',
  ...ofKind('conflict', ['BUSY', 'LOCKED', 'PROTOCOL', 'SCHEMA', 'ABORT']),
  ...ofKind('notWritable', ['FULL', 'IOERR', 'READONLY', 'NOLFS']),
  ...ofKind('unavailable', ['CANTOPEN', 'NOMEM', 'PERM', 'AUTH']),
  ...ofKind('other', ['ERROR', 'INTERNAL', 'CORRUPT', 'NOTADB', 'NOTFOUND', 'EMPTY', 'FORMAT']),
  ...ofKind('other', ['CONSTRAINT', 'MISMATCH', 'MISUSE', 'RANGE']),
};

function ofKind(kind: DatabaseErrorKind, codes: readonly string[]): Record<string, DatabaseErrorKind> {
  return Object.fromEntries(codes.map((code) => [`SQLITE_${code}`, kind]));
}

/** Maps an error of sqlite3. */
export function fromSqlite(error: unknown): DatabaseError {
  const code = codeOf(error);
  // sqlite3 has no extended codes; the message of a constraint names its kind before any identifier.
  const unique = code === 'SQLITE_CONSTRAINT' && error instanceof Error && /UNIQUE|PRIMARY KEY/.test(error.message);
  if (unique) return new DatabaseError('unique', code, indexIn(error, /constraint failed: ([\w., ]+)$/));
  if (code === 'SQLITE_CONSTRAINT' && error instanceof Error && /FOREIGN KEY/.test(error.message))
    return new DatabaseError('reference', code);
  return new DatabaseError(sqliteKinds[code] ?? 'other', code);
}

/** SQLSTATE classes (PostgreSQL, Appendix A) for a lost server or connection. */
const awayClasses = ['08', '53', '57', '58'];
/** The server ended the connection because a transaction was idle or took too long. */
const endedConnection = ['25P03', '25P04'];

/** Another transaction was in the way; the last two: a pooler mixed up prepared statements. */
const conflicts = ['40001', '40P01', '55P03', '26000', '42P05'];

/** Maps an error of pg. */
export function fromPostgres(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  if (code === '23505') return new DatabaseError('unique', code, constraintOf(error));
  if (code === '23503') return new DatabaseError('reference', code);
  if (conflicts.includes(code)) return new DatabaseError('conflict', code);
  if (code === '57014') return new DatabaseError('timeout', code);
  if (code === '25006' || code === '53100') return new DatabaseError('notWritable', code);
  // 54000: a value does not fit an index. 54011: a table has reached its limit of columns, including dropped ones.
  if (code === '54000') return new DatabaseError('tooLong', code, indexIn(error, / for index "(\w+)"/));
  if (code === '54011') return new DatabaseError('tooManyColumns', code);
  const isAway = awayClasses.includes(code.slice(0, 2)) || endedConnection.includes(code);
  if (!isSqlState(code) || isAway) return new DatabaseError('unavailable', code);
  return new DatabaseError('other', code);
}

/** Errors without a code that pg throws while it connects. */
const unnamed: readonly (readonly [RegExp, string])[] = [
  [/timeout/i, 'no_answer'],
  [/password/i, '28P01'],
  [/does not support SSL/, 'no_tls'],
];

/** Maps an error of pg during connect. Every such error counts as `unavailable`. */
export function cannotConnect(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : '';
  const named = code === 'unknown' ? unnamed.find(([words]) => words.test(text))?.[1] : undefined;
  return new DatabaseError('unavailable', named ?? code);
}

// A code that is no SQLSTATE means that the connection failed: refused, reset, ended, or not opened in time.
function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]+$/.test(code);
}
