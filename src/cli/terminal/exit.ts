import { existsSync } from 'node:fs';
import { type ErrorType, Failure } from '#src/contract/errors.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import { conditionOf } from '#src/platform/db/conditions.js';
import { DatabaseError, failureOf } from '#src/platform/db/database-error.js';
import { EgressRefused } from '#src/platform/outbound/egress-rules.js';
import { errorCode } from '#src/platform/runtime/files.js';
import { packageFile } from '#src/platform/runtime/package-root.js';
import { TemplatesUnreadableError } from '#src/platform/templates/templates.js';

/** Exit codes. Scripts and the systemd unit depend on the numbers. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  conflict: 5,
  unreachable: 6,
  unusable: 7,
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;

/** The reason for an exit code. */
type Outcome = keyof typeof exitCodes;

/** Error that ends a command, with the exit code and the message for the operator. Never contains secrets. */
export class CommandError extends Error {
  readonly outcome: Outcome;
  readonly type: string;
  /** The message, if it has several lines. */
  readonly lines: readonly string[] | undefined;
  /** The next step; empty to suggest the help of the command. */
  readonly fix: string;

  constructor(outcome: Outcome, type: string, message: string | readonly string[], fix = '') {
    super(typeof message === 'string' ? message : message.join('\n'));
    this.name = 'CommandError';
    this.lines = typeof message === 'string' ? undefined : message;
    this.outcome = outcome;
    this.type = type;
    this.fix = fix;
  }
}

/**
 * Error for an invalid command line. Without a fix, the next step is the help of the command; the message should then state the allowed
 * values.
 */
export function usageError(message: string, fix = ''): CommandError {
  return new CommandError('usage', 'usage_invalid', message, fix);
}

const errorWith = (outcome: Outcome) => (type: string, message: string | readonly string[], fix?: string) =>
  new CommandError(outcome, type, message, fix);

/** Error for something that has failed. */
export const failedError = errorWith('failed');
/** Error for something that does not exist. */
export const notFoundError = errorWith('notFound');
/** Error for something that this user may not do, or has refused. */
export const notAllowedError = errorWith('notAllowed');
/** Error for a state that does not admit the command. */
export const conflictError = errorWith('conflict');
/** Error for a server or a file store that does not answer. */
export const unreachableError = errorWith('unreachable');
/** Error for an installation that cannot be used. */
export const unusableError = errorWith('unusable');

/** An error ready for printing. */
export interface Explanation {
  readonly exitCode: number;
  readonly type: string;
  readonly message: string;
  /** The message, if it has several lines. */
  readonly lines?: readonly string[] | undefined;
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

/** Values from the command line, by the name that a next step has for them. */
type Given = Readonly<Record<string, string | undefined>>;

/** Prints a next step. A name without a value is printed itself. */
type NextStep = (given: Given) => string;

function step(texts: TemplateStringsArray, ...names: string[]): NextStep {
  return (given) => {
    const values = names.map((name) => (given[name] === undefined ? name : shellWord(given[name])));
    return String.raw({ raw: texts }, ...values);
  };
}

const addOwner = step`svc team add ${'TEAM'} OTHER_USER --project ${'P'} --roles owner`;
/** Next steps for operators, who use commands instead of the API. */
const nextSteps: Partial<Record<ErrorType, NextStep>> = {
  project_not_found: step`svc project list`,
  project_already_exists: step`choose another --id, or look at it with svc project show ${'ID'}`,
  project_id_taken: step`choose another id; svc audit list --project ${'ID'} shows what is left of the deleted project`,
  platform_not_found: step`svc platform list --project ${'P'}`,
  platform_already_exists: step`svc platform list --project ${'P'}`,
  signing_key_not_found: step`svc keys status`,
  key_not_found: step`svc apikey list --project ${'P'}`,
  provider_not_found: step`svc provider list --project ${'P'}`,
  provider_already_exists: step`choose another --key, or change it with svc provider update ${'KEY'} --project ${'P'}`,
  provider_limit_exceeded: step`remove one first: svc provider remove ${'KEY'} --project ${'P'}`,
  user_not_found: step`svc user list --project ${'P'}`,
  user_already_exists: step`svc user list --project ${'P'} --search ${'WORD'}`,
  team_not_found: step`svc team list --project ${'P'}`,
  team_already_exists: step`choose another --id, or look at it with svc team show ${'TEAM'} --project ${'P'}`,
  membership_already_confirmed: step`svc team members ${'TEAM'} --project ${'P'}`,
  membership_deletion_prohibited: addOwner,
  database_not_found: step`svc database list --project ${'P'}, or create it: svc database create NAME --id ${'D'} --project ${'P'}`,
  database_already_exists: step`choose another --id, or look at it with svc database show ${'ID'} --project ${'P'}`,
  collection_not_found: step`svc collection list --project ${'P'} --database ${'D'}`,
  collection_already_exists: step`choose another --id, or svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  attribute_not_found: step`svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  attribute_already_exists: step`svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  attribute_unknown: step`svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  index_not_found: step`svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  index_already_exists: step`svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  storage_bucket_not_found: step`svc bucket list --project ${'P'}`,
  webhook_not_found: step`svc webhook list --project ${'P'}`,
  webhook_already_exists: step`choose another --id, or look at it with svc webhook show ${'ID'} --project ${'P'}`,
  webhook_delivery_not_found: step`svc webhook deliveries ${'ID'} --project ${'P'}`,
  webhook_disabled: step`svc webhook update ${'ID'} --project ${'P'} --enabled on`,
  webhook_limit_exceeded: step`svc webhook list --project ${'P'}, then remove one with svc webhook remove ${'ID'} --project ${'P'}`,
  platform_limit_exceeded: step`svc platform list --project ${'P'}, then remove one with svc platform remove ${'ID'}`,
  key_limit_exceeded: step`svc apikey list --project ${'P'}, then revoke one with svc apikey revoke ${'KEY'} --project ${'P'}`,
  attribute_limit_exceeded: step`remove an attribute first: svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  attribute_default_unsupported: step`leave out --default, or leave out --required and --array`,
  collection_limit_exceeded: step`remove a collection first: svc collection list --project ${'P'} --database ${'D'}`,
  database_limit_exceeded: step`remove a database first: svc database list --project ${'P'}`,
  index_limit_exceeded: step`remove an index first: svc collection show ${'ID'} --project ${'P'} --database ${'D'}`,
  membership_not_found: step`svc team members ${'TEAM'} --project ${'P'}`,
  membership_downgrade_prohibited: addOwner,
  team_limit_exceeded: step`remove the user from a team first: svc team remove ${'TEAM'} ${'USER'} --project ${'P'}`,
  user_email_already_exists: step`svc user list --project ${'P'} --search ${'ADDRESS'}`,
  user_phone_already_exists: step`svc user list --project ${'P'} --search ${'NUMBER'}`,
  user_session_not_found: step`svc user sessions ${'USER'} --project ${'P'}`,
  general_unavailable: step`try again in a moment`,
  password_policy_violation: step`choose another password`,
};

/** Quotes a text as one word of a command line. */
export function shellWord(text: string): string {
  return /^[\w.@:+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const usableUrl =
  'give an https URL of a public host. SVC_EGRESS_ALLOW allows addresses of your own networks, by their IP or by a name in a domain of yours; SVC_WEBHOOK_ALLOW_INSECURE=true allows http and private addresses, for development. Restart the server after a change';
const moreFiles = 'allow more: ulimit -n 4096 in a shell, LimitNOFILE= in a unit of systemd';

/** Maps any error to an exit code and a message. Never prints texts of the database. */
export function explain(error: unknown, command = 'svc', given: Given = {}): Explanation {
  const help = `${command} --help shows its arguments and flags`;
  if (error instanceof CommandError) {
    const { outcome, type, message, lines, fix } = error;
    return { exitCode: exitCodes[outcome], type, message, lines, fix: fix || help };
  }
  if (error instanceof ConfigError) {
    const { message, problems, fix } = error;
    const lines = problems.map((problem) => problem.message);
    return { exitCode: exitCodes.unusable, type: 'configuration_invalid', message, lines, fix };
  }
  if (error instanceof DatabaseError) return explainDatabase(error);
  if (error instanceof Failure && error.cause instanceof DatabaseError) return explainDatabase(error.cause);
  if (error instanceof Failure) {
    const { type, status, cause } = error;
    const next = nextSteps[type];
    return {
      exitCode: exitCodes[next === addOwner ? 'conflict' : (byStatus[status] ?? 'failed')],
      type,
      message: type === 'project_not_found' ? 'There is no such project.' : error.message,
      fix: cause instanceof EgressRefused ? usableUrl : (next?.(given) ?? help),
    };
  }
  if (error instanceof TemplatesUnreadableError) {
    const fix = 'run the command as the owner of the data directory, or correct the permissions';
    return { exitCode: exitCodes.notAllowed, type: 'templates_unreadable', message: error.message, fix };
  }
  if (['EMFILE', 'ENFILE'].includes(errorCode(error))) {
    const message = `No more files can be opened (${errorCode(error)}).`;
    return { exitCode: exitCodes.unusable, type: 'too_many_open_files', message, fix: moreFiles };
  }
  if (error instanceof Error && 'path' in error && ['EACCES', 'EPERM'].includes(errorCode(error))) {
    const message = `This user may not use ${error.path} (${errorCode(error)}).`;
    const fix = 'run the command as the owner of the data directory, or correct the permissions';
    return { exitCode: exitCodes.notAllowed, type: 'file_not_permitted', message, fix };
  }
  if (['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED'].includes(errorCode(error))) {
    const message = `Packages of svc are missing, or do not fit this version of Node.js (${errorCode(error)}).`;
    return { exitCode: exitCodes.unusable, type: 'packages_missing', message, fix: installing() };
  }
  const name = error instanceof Error ? error.name : 'unknown';
  const message = `Internal error (${name}). This is a bug in svc; unfinished changes were rolled back.`;
  return {
    exitCode: exitCodes.failed,
    type: 'internal',
    message,
    fix: 'run the command again with --verbose and report the output',
  };
}

/** How to install missing parts of svc; an archive has no installer. bin/svc prints the same if nothing can be loaded. */
function installing(): string {
  const installer = packageFile('install.sh');
  return existsSync(installer) ? installer : 'unpack the archive again';
}

function explainDatabase(error: DatabaseError): Explanation {
  const { code } = error;
  const condition = conditionOf(code);
  if (condition !== undefined) {
    const { type, message, next: fix, outcome = 'unreachable' } = condition;
    return { exitCode: exitCodes[outcome], type, message: `${message} (${code}).`, fix };
  }
  if (failureOf(error) !== undefined) {
    const fix = 'check that the database is running; svc config show --origin shows SVC_DATABASE_URL';
    const message = `The database cannot be reached (${code}).`;
    return { exitCode: exitCodes.unreachable, type: 'database_unreachable', message, fix };
  }
  const message = `The database reports an error (${code}).`;
  return { exitCode: exitCodes.failed, type: 'database_failed', message, fix: 'read the log of the database server' };
}
