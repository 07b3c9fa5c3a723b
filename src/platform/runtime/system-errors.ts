import { errorCode } from './files.js';

/** Meanings of system error codes, as the end of a sentence about a file or a directory. */
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
  EEXIST: 'something else has that name',
  ENOENT: 'its directory does not exist',
};

/** Describes why reading fails, with the system's code, such as `it does not exist (ENOENT)`; takes the error or its code. */
export const whyUnreadable = (error: unknown): string => inWords(ofReading, error);

/** Describes why writing or creating fails, in the same form. Text that is no code, such as such a description, is returned unchanged. */
export const whyUnwritable = (error: unknown): string => inWords(ofWriting, error);

/** True if the disk is full, which may be temporary. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errorCode(error));
}

/** Returns a code without a meaning here alone, and other text unchanged. */
function inWords(table: Readonly<Record<string, string>>, error: unknown): string {
  const code = typeof error === 'string' ? error : errorCode(error);
  const meaning = table[code];
  return meaning === undefined ? code : `${meaning} (${code})`;
}
