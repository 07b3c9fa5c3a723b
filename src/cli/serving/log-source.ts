import { spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '#src/platform/runtime/files.js';
import { whyUnreadable } from '#src/platform/runtime/system-errors.js';
import { type CommandError, notFoundError } from '../terminal/exit.js';

/** Follows the last line that was in the log when the command began. */
export const caughtUp = Symbol('caughtUp');

/** The lines of a log, and one `caughtUp` among them. */
export type LogSource = AsyncGenerator<string | typeof caughtUp>;

const pollMs = 300;
/** The old file is still read for this many polls after the first line of the new one. */
const roundsAfterRotation = 30;
/** An unfinished line longer than this is dropped. */
const mostLineBytes = 1_048_576;
const readBytes = 65_536;

/**
 * The lines of a log file and, if `follows`, those that are appended later. After logrotate has replaced the file, the server writes to the old
 * one until SIGHUP, so both are read.
 */
export async function* linesOfFile(path: string, follows: boolean): LogSource {
  const files: LogFile[] = [];
  try {
    for (let isFirst = true; ; isFirst = false) {
      const found = await openOther(path, follows, files.at(-1));
      if (found !== undefined) files.push(found);
      for (const file of files) yield* file.newLines();
      if (isFirst) yield caughtUp;
      if (!follows) return;
      if (files[1]?.isInUse()) await files.shift()?.close();
      await sleep(pollMs);
    }
  } finally {
    for (const file of files) await file.close();
  }
}

/** An open log file, and how far it has been read. */
class LogFile {
  private readonly handle: FileHandle;
  private readonly id: string;
  private offset = 0;
  private rest = '';
  private decoder = new StringDecoder('utf8');
  private roundsWithLines = 0;

  constructor(handle: FileHandle, id: string) {
    this.handle = handle;
    this.id = id;
  }

  is(id: string): boolean {
    return this.id === id;
  }

  /** The finished lines since the last call. */
  async *newLines(): AsyncGenerator<string> {
    const { size } = await this.handle.stat();
    // The file was emptied.
    if (size < this.offset) [this.offset, this.rest, this.decoder] = [0, '', new StringDecoder('utf8')];
    const buffer = Buffer.alloc(Math.min(readBytes, size - this.offset));
    while (this.offset < size) {
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, this.offset);
      if (bytesRead === 0) break;
      this.offset += bytesRead;
      const lines = `${this.rest}${this.decoder.write(buffer.subarray(0, bytesRead))}`.split('\n');
      this.rest = (lines.pop() ?? '').slice(-mostLineBytes);
      for (const line of lines) if (line !== '') yield line;
    }
    if (this.offset > 0) this.roundsWithLines += 1;
  }

  /** True if the server has written to this file for some rounds, so that it has closed the former one. */
  isInUse(): boolean {
    return this.roundsWithLines > roundsAfterRotation;
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

/** Opens the file at a path; undefined if it is open already. While following, no file is there between the two steps of logrotate. */
async function openOther(path: string, follows: boolean, known: LogFile | undefined): Promise<LogFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path);
    const stat = await handle.stat();
    if (stat.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    const id = `${stat.dev}:${stat.ino}`;
    if (!known?.is(id)) return new LogFile(handle, id);
    await handle.close();
    return undefined;
  } catch (error) {
    await handle?.close();
    if (follows && errorCode(error) === 'ENOENT') return undefined;
    const fix =
      errorCode(error) === 'ENOENT'
        ? 'start the server with svc serve, or correct SVC_LOG_FILE'
        : 'run the command as the user of the service';
    throw notFoundError('file_not_found', `${path} cannot be read: ${whyUnreadable(error)}.`, fix);
  }
}

/** The part of the journal to begin with: the newest entries, all of them if undefined, and only those since a time. */
interface JournalPart {
  readonly newest: number | undefined;
  readonly since: string | undefined;
}

/** The lines of the service's unit in the journal of systemd. When the first journalctl ends, a second one follows the journal from there. */
export async function* linesOfJournal(follows: boolean, { newest, since }: JournalPart): LogSource {
  const from = since === undefined ? [] : ['--since', since.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')];
  let [last, lines] = ['', 0];
  for await (const line of journalctl([...from, '-n', String(newest ?? 'all'), '--show-cursor'])) {
    if (lines > 0) yield last;
    lines += 1;
    last = line;
  }
  const [, cursor] = /^-- cursor: (\S+)$/.exec(last) ?? [];
  if (cursor === undefined && lines > 0) yield last;
  if (!follows && lines === 0)
    throw noLog('The journal has no lines of the unit svc that this user may read, and SVC_LOG_FILE is not set.');
  yield caughtUp;
  if (follows) yield* journalctl([...(cursor === undefined ? from : ['--after-cursor', cursor]), '--no-tail', '-f']);
}

/** The lines that journalctl prints of the unit, and of its instances if there are several processes. */
async function* journalctl(options: readonly string[]): AsyncGenerator<string> {
  const args = ['-u', 'svc', '-u', 'svc@*', '-o', 'cat', '--no-pager', '-q', ...options];
  const child = spawn('journalctl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let failure: unknown;
  child.on('error', (error) => {
    failure = error;
  });
  try {
    yield* createInterface({ input: child.stdout });
  } finally {
    child.kill();
  }
  await sleep(0);
  if (failure !== undefined)
    throw noLog('There is no journal of systemd on this machine, and SVC_LOG_FILE is not set.');
}

function noLog(message: string): CommandError {
  const fix = 'run the command with sudo, or let the server write a file: svc config set SVC_LOG_FILE FILE';
  return notFoundError('log_not_found', message, fix);
}
