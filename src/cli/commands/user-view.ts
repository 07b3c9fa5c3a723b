import { Failure } from '#src/contract/errors.js';
import type { UserRecord } from '#src/contract/user.js';
import { passwordText, toUser } from '#src/features/index.js';
import type { ApplianceCall } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { usageError } from '../exit.js';
import { readSecretFile, readStdin } from '../input.js';
import { pairs } from '../table.js';

/** The argument that names a user. */
export const userArgument = { name: 'USER', summary: 'id or e-mail address of the user', values: 'user' } as const;

const secrets = 'Password (asked for on a terminal)';

/** The flags that say where a password comes from. */
export const passwordOptions = [
  { flag: '--password-stdin', summary: 'read the password from stdin', group: secrets },
  { flag: '--secret-file', value: 'FILE', summary: 'read the password from a file', group: secrets },
] as const;

/** The project and the user that a command names. */
export async function findUser({ args, runtime, features }: ApplianceCall) {
  const project = await features.projects.get(runtime.db, args.required('--project'));
  return { project, account: await features.users.getByIdOrEmail(project.id, args.argument('USER')) };
}

/** The password from where the flags say; asked for on a terminal, until nothing is wrong with it. */
export async function readPassword(
  { args, prompts }: ApplianceCall,
  problem: (password: string) => Promise<string | undefined>,
): Promise<string> {
  const file = args.text('--secret-file');
  const isOnStdin = args.isSet('--password-stdin');
  if (isOnStdin && file !== undefined)
    throw usageError('--password-stdin and --secret-file cannot be combined.', 'give only one of them');
  if (file !== undefined) return readSecretFile(file, '--secret-file');
  // What is typed at a terminal would be shown.
  if (isOnStdin && !process.stdin.isTTY) return readStdin('--password-stdin');
  return prompts.askNewSecret('Password', '--password-stdin or --secret-file FILE', problem);
}

/** What is wrong with a new password of a user; undefined where nothing is. */
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

/** How a question or a report calls a user. */
export function calledOf({ id, email }: UserRecord): string {
  return email === null ? id : `${id} (${email})`;
}

/** Whether a user is blocked, in a word. */
export function statusOf({ status }: UserRecord): string {
  return status ? 'active' : 'blocked';
}

function contactOf(contact: string | null, isVerified: boolean): string {
  return contact === null ? '' : `${contact} (${isVerified ? 'verified' : 'not verified'})`;
}

/** When a user was last seen; a new account has the time at which it was made. */
function lastSeenOf({ createdAt, accessedAt }: UserRecord): string {
  return accessedAt === null || accessedAt === createdAt ? 'never' : accessedAt;
}

/** A user as an answer. */
export function shownUser(account: UserRecord): CommandResult {
  return {
    value: toUser(account),
    text: pairs([
      ['id', account.id],
      ['e-mail', contactOf(account.email, account.emailVerification)],
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
