import { errorCode } from './files.js';

/** What the codes of the system mean, as the end of a sentence about a file or a directory. */
const meanings: Readonly<Record<string, string>> = {
  EBUSY: 'it is in use',
  EDQUOT: 'the disk is full for this user',
  EFBIG: 'it would be larger than this process may make a file (ulimit -f)',
  EIO: 'the disk reports an error',
  EISDIR: 'it is a directory',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'this process may not open more files (ulimit -n)',
  ENAMETOOLONG: 'its name is too long',
  ENFILE: 'the system may not open more files',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  EPERM: 'the system does not permit it',
  EROFS: 'its file system is read-only',
};

const ofReading = { ...meanings, EACCES: 'this user may not read it', ENOENT: 'it does not exist' };
const ofWriting = {
  ...meanings,
  EACCES: 'this user may not write there',
  ENOENT: 'its directory does not exist',
};

/** Why something cannot be read, with the code of the system, such as `it does not exist (ENOENT)`; given the error or its code. */
export const whyUnreadable = (error: unknown): string => inWords(ofReading, error);

/** Why something cannot be written or made, likewise. */
export const whyUnwritable = (error: unknown): string => inWords(ofWriting, error);

/** Whether a disk took no more: that passes when there is room. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errorCode(error));
}

/** One without a meaning here is the code alone. */
function inWords(table: Readonly<Record<string, string>>, error: unknown): string {
  const code = typeof error === 'string' ? error : errorCode(error);
  const meaning = table[code];
  return meaning === undefined ? code : `${meaning} (${code})`;
}
