import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAbsent } from '#src/platform/files.js';

/** The name of who owns a file, or of its directory where that is all that can be seen; the number where the system knows no name. */
export function ownerOf(file: string): string {
  const seen = [file, dirname(file)].flatMap((path) => {
    try {
      return [statSync(path).uid];
    } catch {
      return [];
    }
  });
  const uid = seen[0] ?? 0;
  return nameOf('/etc/passwd', uid) ?? `#${uid}`;
}

/** The name of the user of this process, or its number. */
export function userOfProcess(): string {
  const uid = process.geteuid?.() ?? 0;
  return nameOf('/etc/passwd', uid) ?? String(uid);
}

/** The name of the group of this process, or its number. */
export function groupOfProcess(): string {
  const gid = process.getegid?.() ?? 0;
  return nameOf('/etc/group', gid) ?? String(gid);
}

/** Whether a file is there and belongs to another user than that of this process. */
export function isOfAnother(file: string): boolean {
  try {
    return statSync(file).uid !== process.geteuid?.();
  } catch {
    return false;
  }
}

/** Users and groups are listed alike: the name, a password, the number. */
function nameOf(list: string, id: number): string | undefined {
  const lines = isAbsent(list) ? [] : readFileSync(list, 'utf8').split('\n');
  return lines.find((line) => line.split(':')[2] === String(id))?.split(':')[0];
}
