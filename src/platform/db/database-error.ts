import { Failure } from '#src/contract/errors.js';

/** What went wrong, in words both databases share. */
type DatabaseErrorKind = 'unique' | 'conflict' | 'timeout' | 'unavailable' | 'tooLong' | 'tooManyColumns' | 'other';

/** An error of the database without its text, which may hold SQL and values; `code` is the driver's own. */
export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;
  readonly code: string;

  constructor(kind: DatabaseErrorKind, code: string) {
    super(`database error ${code} (${kind})`);
    this.name = 'DatabaseError';
    this.kind = kind;
    this.code = code;
  }
}

/** The answer a client gets for a database error that no feature expected; undefined where it is a defect of ours. */
export function failureOf(error: DatabaseError): Failure | undefined {
  if (!['conflict', 'timeout', 'unavailable'].includes(error.kind)) return undefined;
  return new Failure('general_unavailable', { retryAfter: 1, cause: error });
}

/** The driver's own code of an error, without its message. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'unknown';
}

/** Maps an error of sqlite3. */
export function fromSqlite(error: unknown): DatabaseError {
  const code = codeOf(error);
  // sqlite3 has no extended codes; the message of a constraint names its kind before any identifier.
  const unique = code === 'SQLITE_CONSTRAINT' && error instanceof Error && /UNIQUE|PRIMARY KEY/.test(error.message);
  if (unique) return new DatabaseError('unique', code);
  if (code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED') return new DatabaseError('conflict', code);
  if (['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_CANTOPEN', 'SQLITE_READONLY'].includes(code))
    return new DatabaseError('unavailable', code);
  return new DatabaseError('other', code);
}

/** Classes of SQLSTATE (PostgreSQL, Appendix A) that say the server or the connection is away. */
const awayClasses = ['08', '53', '57', '58'];

/** Maps an error of pg. */
export function fromPostgres(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  if (code === '23505') return new DatabaseError('unique', code);
  if (code === '40001' || code === '40P01' || code === '55P03') return new DatabaseError('conflict', code);
  if (code === '57014') return new DatabaseError('timeout', code);
  // A value does not fit an index; a table has had as many columns as it may, those dropped included.
  if (code === '54000') return new DatabaseError('tooLong', code);
  if (code === '54011') return new DatabaseError('tooManyColumns', code);
  // Without a SQLSTATE it is the connection that failed: refused, reset, ended, or not had in time.
  if (!/^[0-9A-Z]{5}$/.test(code) || /^E[A-Z]+$/.test(code) || awayClasses.includes(code.slice(0, 2))) {
    return new DatabaseError('unavailable', code);
  }
  return new DatabaseError('other', code);
}
