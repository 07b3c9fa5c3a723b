import { Failure } from '#src/contract/errors.js';
import type { UserRecord } from '#src/contract/user.js';
import { passwordText, toUser } from '#src/features/index.js';
import type { ApplianceCall, CommandResult } from '../line/command.js';
import { readSecretFile, readStdin } from '../line/input.js';
import { inGroup } from '../line/options.js';
import { usageError } from '../terminal/exit.js';
import { pairs } from '../terminal/table.js';

/** The argument that selects a user. */
export const userArgument = { name: 'USER', summary: 'id or email address of the user', values: 'user' } as const;

/** The flags for the source of a password. */
export const passwordOptions = inGroup('Password (asked for on a terminal)', [
  { flag: '--password-stdin', summary: 'read the password from stdin' },
  { flag: '--secret-file', value: 'FILE', summary: 'read the password from a file' },
]);

/** Resolves the project and the user of a command. */
export async function findUser({ args, features, findProject }: ApplianceCall) {
  const project = await findProject();
  return { project, account: await features.users.getByIdOrEmail(project.id, args.argument('USER')) };
}

/** Reads a password from the source in the flags. On a terminal, asks until it is valid. */
export async function readPassword(
  { args, prompts }: ApplianceCall,
  problem: (password: string) => Promise<string | undefined>,
): Promise<string> {
  const file = args.text('--secret-file');
  const isOnStdin = args.isSet('--password-stdin');
  if (isOnStdin && file !== undefined)
    throw usageError('--password-stdin and --secret-file cannot be combined.', 'give only one of them');
  if (file !== undefined) return readSecretFile(file, '--secret-file');
  // Text typed at a terminal would be visible.
  if (isOnStdin && !process.stdin.isTTY) return readStdin('--password-stdin');
  return prompts.askNewSecret('Password', '--password-stdin or --secret-file FILE', problem);
}

/** Explains why a new password is invalid; undefined if it is valid. */
export async function passwordProblem(
  { features }: ApplianceCall,
  password: string,
  owner: Parameters<ApplianceCall['features']['users']['checkPassword']>[1],
): Promise<string | undefined> {
  const parsed = passwordText.safeParse(password);
  if (!parsed.success) return parsed.error.issues[0]?.message ?? 'is not valid';
  try {
    await features.users.checkPassword(parsed.data, owner);
    return undefined;
  } catch (error) {
    if (error instanceof Failure && error.type === 'password_policy_violation') return error.message;
    throw error;
  }
}

/** Formats a user for questions and reports. */
export function calledOf({ id, email }: UserRecord): string {
  return email === null ? id : `${id} (${email})`;
}

/** Formats the status of a user. */
export function statusOf({ status }: UserRecord): string {
  return status ? 'active' : 'blocked';
}

function contactOf(contact: string | null, isVerified: boolean): string {
  return contact === null ? '' : `${contact} (${isVerified ? 'verified' : 'not verified'})`;
}

/** The last activity of a user. A new account has its creation time in `accessedAt`. */
function lastSeenOf({ createdAt, accessedAt }: UserRecord): string {
  return accessedAt === null || accessedAt === createdAt ? 'never' : accessedAt;
}

/** Formats a user as a result. */
export function shownUser(account: UserRecord): CommandResult {
  return {
    value: toUser(account),
    text: pairs([
      ['id', account.id],
      ['email', contactOf(account.email, account.emailVerification)],
      ['phone', contactOf(account.phone, account.phoneVerification)],
      ['name', account.name],
      ['labels', account.labels.join(', ')],
      ['status', statusOf(account)],
      ['second factor', account.mfa ? 'on' : 'off'],
      ['created', account.createdAt],
      ['last seen', lastSeenOf(account)],
    ]),
  };
}
