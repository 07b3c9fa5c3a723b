import { type ErrorType, Failure } from '#src/contract/errors.js';
import { ConfigError } from '#src/platform/config/load.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';

/** What the process ends with; scripts and the systemd unit rely on the numbers. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  conflict: 5,
  unreachable: 6,
  unusable: 7,
  interrupted: 130,
  terminated: 143,
} as const;

/** The meaning of an exit code. */
type Outcome = keyof typeof exitCodes;

/** A command cannot go on: how the process ends, and what the operator reads. Never holds a secret. */
export class CommandError extends Error {
  readonly outcome: Outcome;
  readonly type: string;
  /** What to do next. */
  readonly fix: string;

  constructor(outcome: Outcome, type: string, message: string, fix: string) {
    super(message);
    this.name = 'CommandError';
    this.outcome = outcome;
    this.type = type;
    this.fix = fix;
  }
}

/** The command line itself is wrong. */
export function usageError(message: string, fix = 'svc --help'): CommandError {
  return new CommandError('usage', 'usage_invalid', message, fix);
}

/** An error as it is printed. */
export interface Explanation {
  readonly exitCode: number;
  readonly type: string;
  readonly message: string;
  readonly fix: string;
}

const byStatus: Readonly<Record<number, Outcome>> = {
  400: 'usage',
  401: 'notAllowed',
  403: 'notAllowed',
  404: 'notFound',
  409: 'conflict',
  503: 'unreachable',
};

/** Where the words of the catalog are meant for clients, or a next step is known. */
const forOperators: Partial<Record<ErrorType, { readonly message?: string; readonly fix: string }>> = {
  project_not_found: { message: 'There is no such project.', fix: 'svc project list' },
  project_already_exists: { fix: 'choose another --id, or look at it with svc project show ID' },
  platform_not_found: { fix: 'svc platform list --project P' },
  platform_already_exists: { fix: 'svc platform list --project P' },
  signing_key_not_found: { fix: 'svc keys status' },
  key_not_found: { fix: 'svc apikey list --project P' },
  user_not_found: { fix: 'svc user list --project P' },
  user_already_exists: { fix: 'svc user list --project P --search WORD' },
  database_not_found: { fix: 'svc database list --project P' },
  database_already_exists: { fix: 'choose another --id, or look at it with svc database show ID --project P' },
  collection_not_found: { fix: 'svc collection list --project P --database D' },
  collection_already_exists: { fix: 'choose another --id, or svc collection show ID --project P --database D' },
  attribute_not_found: { fix: 'svc collection show ID --project P --database D' },
  attribute_already_exists: { fix: 'svc collection show ID --project P --database D' },
  attribute_unknown: { fix: 'svc collection show ID --project P --database D' },
  index_not_found: { fix: 'svc collection show ID --project P --database D' },
  index_already_exists: { fix: 'svc collection show ID --project P --database D' },
  index_dependency: { fix: 'svc collection remove-index ID INDEX --project P --database D' },
  webhook_not_found: { fix: 'svc webhook list --project P' },
  webhook_already_exists: { fix: 'choose another --id, or look at it with svc webhook show ID --project P' },
  webhook_delivery_not_found: { fix: 'svc webhook deliveries ID --project P' },
  webhook_disabled: { fix: 'svc webhook update ID --project P --enabled on' },
  password_policy_violation: { fix: 'choose another password' },
};

/** How any error ends the process and what is said about it. Texts of the database are never among it. */
export function explain(error: unknown): Explanation {
  if (error instanceof CommandError) {
    return { exitCode: exitCodes[error.outcome], type: error.type, message: error.message, fix: error.fix };
  }
  if (error instanceof ConfigError) {
    const fix = 'correct the settings; svc config check looks at them again';
    return { exitCode: exitCodes.unusable, type: 'configuration_invalid', message: error.message, fix };
  }
  if (error instanceof DatabaseError) return explainDatabase(error);
  if (error instanceof Failure) {
    const own = error.type === 'general_unavailable' ? undefined : forOperators[error.type];
    return {
      exitCode: exitCodes[byStatus[error.status] ?? 'failed'],
      type: error.type,
      message: own?.message ?? error.message,
      fix: own?.fix ?? 'svc --help',
    };
  }
  const name = error instanceof Error ? error.name : 'unknown';
  const message = `This is a defect of svc (${name}). Nothing of an unfinished change was kept.`;
  return { exitCode: exitCodes.failed, type: 'internal', message, fix: 'run it again with --verbose and report it' };
}

function explainDatabase(error: DatabaseError): Explanation {
  const refused = error.code.startsWith('28') || error.code.startsWith('3D');
  if (refused || error.code === 'SQLITE_CANTOPEN' || failureOf(error) !== undefined) {
    const what = refused ? 'refuses the connection' : 'cannot be reached';
    return {
      exitCode: exitCodes.unreachable,
      type: 'database_unreachable',
      message: `The database ${what} (${error.code}).`,
      fix: 'is it running, and is SVC_DATABASE_URL right? svc config show --origin',
    };
  }
  const damaged = error.code === 'SQLITE_CORRUPT' || error.code === 'SQLITE_NOTADB';
  return {
    exitCode: damaged ? exitCodes.unusable : exitCodes.failed,
    type: damaged ? 'database_damaged' : 'database_failed',
    message: `The database ${damaged ? 'file is damaged or not an SQLite file' : 'reports an error'} (${error.code}).`,
    fix: damaged ? 'restore it from a backup, or correct SVC_DATABASE_URL' : 'look at the log of the database',
  };
}
