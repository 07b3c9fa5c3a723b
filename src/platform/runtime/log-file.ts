import { closeSync, openSync, writeSync } from 'node:fs';

/** A file that a log is appended to. */
export interface LogFile {
  /** Appends lines. They go to stderr if the file cannot be written, such as on a full disk. */
  write(lines: string): void;
  /** Opens the path again, after logrotate has renamed the file. Throws the system's error; then the old file stays in use. */
  reopen(): void;
}

/** The owner can write it, and a group such as `adm` can be given access by the directory. */
const fileMode = 0o640;

/** Opens a log file for appending, and creates it if it does not exist. Throws the system's error. */
export function openLogFile(path: string): LogFile {
  const open = () => openSync(path, 'a', fileMode);
  let descriptor = open();
  return {
    write: (lines) => {
      try {
        writeSync(descriptor, lines);
      } catch {
        process.stderr.write(lines);
      }
    },
    reopen: () => {
      const next = open();
      closeSync(descriptor);
      descriptor = next;
    },
  };
}
