import { lstatSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { notAllowedError, shellWord } from '../terminal/exit.js';
import { fileOwnerOf, userName } from './owners.js';

/** Users whose files root trusts: root and the user who called sudo. */
const trustedUsers = (): readonly number[] => [0, Number(process.env.SUDO_UID ?? 0)];

/**
 * Returns why another user can change a path; undefined if none can. In a sticky directory users can replace only their own files. A link
 * has no permissions of its own.
 */
function foreignness(path: string): string | undefined {
  const status = lstatSync(path);
  const { uid, gid, mode } = status;
  if (!trustedUsers().includes(uid)) return `${path} belongs to ${userName(uid)}`;
  if (status.isSymbolicLink()) return undefined;
  const isSticky = (mode & 0o1000) !== 0;
  const mayOthers = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== 0 && !trustedUsers().includes(gid));
  return mayOthers && !isSticky ? `other users may write to ${path}` : undefined;
}

/** Returns why another user can change any of these paths. */
function foreigners(paths: readonly string[]): string | undefined {
  return paths.map(foreignness).find((why) => why !== undefined);
}

/** Throws if root would use settings that were found in the current directory and that another local user could have put there. */
export function requireOwnSettings(file: string): void {
  if (process.geteuid?.() !== 0) return;
  const target = realpathSync(file);
  const why = foreigners([dirname(file), file, dirname(target), target]);
  if (why === undefined) return;
  throw notAllowedError(
    'configuration_foreign',
    `Root does not use the configuration file ${file} unless it is named: ${why}.`,
    ['svc --config', shellWord(file), ...process.argv.slice(2).map(shellWord)].join(' '),
  );
}

/** Throws if root would follow a link to a database that another local user could have put there. */
export function requireOwnLink(database: string): void {
  const file = resolve(database);
  if (process.geteuid?.() !== 0 || !lstatSync(file).isSymbolicLink()) return;
  const directory = dirname(file);
  const why = foreignness(directory);
  if (why === undefined) return;
  throw notAllowedError(
    'database_foreign',
    `The database ${file} is a symbolic link, which root does not follow: ${why}.`,
    ['runuser -u', shellWord(fileOwnerOf(directory)), '-- svc', ...process.argv.slice(2).map(shellWord)].join(' '),
  );
}
