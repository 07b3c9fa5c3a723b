import { errorCode, FileTooLargeError } from '../runtime/files.js';
import { whyUnreadable, whyUnwritable } from '../runtime/system-errors.js';

/** A problem of the settings, with its fix. */
export interface ConfigProblem {
  readonly message: string;
  readonly fix: string;
}

/** A plain text stands for a problem with the default fix. */
export type GivenProblem = string | ConfigProblem;

const correct = 'correct the settings, then run svc config check';

/** The configuration cannot be used; lists every problem at once. The process exits with 7. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];
  constructor(given: readonly GivenProblem[]) {
    const problems = given.map(toProblem);
    super(problems.map(({ message }) => message).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }

  /** The common fix of all problems; the default fix if they differ. */
  get fix(): string {
    const [first, ...others] = new Set(this.problems.map(({ fix }) => fix));
    return first === undefined || others.length > 0 ? correct : first;
  }
}

/** A problem with its fix. */
export function toProblem(given: GivenProblem): ConfigProblem {
  return typeof given === 'string' ? { message: given, fix: correct } : given;
}

/** The problem of a setting that refers to an unreadable file. */
export function unreadableFile(setting: string, file: string, error: unknown): ConfigProblem {
  const reason = error instanceof FileTooLargeError ? `it has ${error.message}` : whyUnreadable(error);
  const fixes: Readonly<Record<string, string>> = {
    ENOENT: `put the file there, or correct ${setting}`,
    EACCES: 'run the command as a user who may read it, or let this user read it',
  };
  const fix = fixes[errorCode(error)] ?? `correct ${setting}`;
  return { message: `${setting} names ${file}, which cannot be read: ${reason}`, fix };
}

/** The problem of a log file that cannot be opened for writing. */
export function unwritableLogFile(path: string, error: unknown): ConfigProblem {
  return {
    message: `SVC_LOG_FILE names ${path}, which cannot be written: ${whyUnwritable(error)}`,
    fix: 'create its directory for the user of the service, or correct SVC_LOG_FILE',
  };
}
