import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAbsent } from '#src/platform/runtime/files.js';

/** The name of the owner of a file, or of its directory if the file is not accessible; `#UID` if the system knows no name. */
export function fileOwnerOf(file: string): string {
  const seen = [file, dirname(file)].flatMap((path) => {
    try {
      return [statSync(path).uid];
    } catch {
      return [];
    }
  });
  return userName(seen[0] ?? 0);
}

/** The name of a user, or the number. */
export function userName(uid: number): string {
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

/** True if a file exists and belongs to another user than this process. */
export function isOfAnother(file: string): boolean {
  try {
    return statSync(file).uid !== process.geteuid?.();
  } catch {
    return false;
  }
}

/** Looks up a name. The files of users and groups have the same format: name, password, number. */
function nameOf(list: string, id: number): string | undefined {
  const lines = isAbsent(list) ? [] : readFileSync(list, 'utf8').split('\n');
  return lines.find((line) => line.split(':')[2] === String(id))?.split(':')[0];
}
