import type { Account } from '#src/contract/account.js';
import { toUser } from '#src/features/index.js';
import type { Answer } from '../answer.js';
import type { ApplianceCall } from '../command.js';
import { usageError } from '../exit.js';
import { readSecretFile, readStdin } from '../input.js';
import { pairs } from '../output.js';

/** The argument that names a user. */
export const userArgument = { name: 'USER', summary: 'id or e-mail address of the user' } as const;

const secrets = 'Password (asked for on a terminal)';

/** The flags that say where a password comes from. */
export const passwordOptions = [
  { flag: '--password-stdin', summary: 'read it from stdin', group: secrets },
  { flag: '--secret-file', value: 'FILE', summary: 'read it from a file', group: secrets },
] as const;

/** The project and the user that a command names. */
export async function findUser({ typed, appliance: { platform, features } }: ApplianceCall) {
  const project = await features.projects.get(platform.db, typed.required('--project'));
  return { project, account: await features.users.find(project, typed.argument('USER')) };
}

/** The password from where the flags say; asked for on a terminal. */
export async function readPassword({ typed, prompts }: ApplianceCall): Promise<string> {
  const file = typed.text('--secret-file');
  if (typed.isSet('--password-stdin')) {
    if (file === undefined) return readStdin();
    throw usageError('--password-stdin and --secret-file exclude each other.', 'give one of them');
  }
  return file === undefined
    ? prompts.askSecret('Password', '--password-stdin or --secret-file FILE')
    : readSecretFile(file);
}

/** How a question or a report calls a user. */
export function calledOf({ id, email }: Account): string {
  return email === null ? id : `${id} (${email})`;
}

/** Whether a user is blocked, in a word. */
export function statusOf({ status }: Account): string {
  return status ? 'active' : 'blocked';
}

/** A user as an answer. */
export function shownUser(account: Account): Answer {
  return {
    value: toUser(account),
    text: pairs([
      ['id', account.id],
      ['e-mail', account.email ?? ''],
      ['phone', account.phone ?? ''],
      ['name', account.name],
      ['labels', account.labels.join(', ')],
      ['status', statusOf(account)],
      ['second factor', account.mfa ? 'on' : 'off'],
      ['created', account.createdAt],
      ['last seen', account.accessedAt ?? 'never'],
    ]),
  };
}
