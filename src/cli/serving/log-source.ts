import { spawn } from 'node:child_process';
import { createReadStream, type Stats, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '#src/platform/runtime/files.js';
import { whyUnreadable } from '#src/platform/runtime/system-errors.js';
import { CommandError } from '../terminal/exit.js';

const pollMs = 300;
/** An unfinished line longer than this is dropped. */
const mostLineBytes = 1_048_576;

/** The lines of a log file and, if `follows`, those that are appended later, also after logrotate has replaced the file. */
export async function* linesOfFile(path: string, follows: boolean): AsyncGenerator<string> {
  let [inode, offset, rest] = [0, 0, ''];
  for (;;) {
    const found = statOf(path, follows);
    if (found !== undefined) {
      // A new file, or one that was emptied.
      if (found.ino !== inode || found.size < offset) [inode, offset, rest] = [found.ino, 0, ''];
      if (found.size > offset) {
        const stream = createReadStream(path, { start: offset, end: found.size - 1, encoding: 'utf8' });
        for await (const part of stream) {
          const lines = `${rest}${part}`.split('\n');
          rest = (lines.pop() ?? '').slice(-mostLineBytes);
          for (const line of lines) if (line !== '') yield line;
        }
        offset = found.size;
      }
    }
    if (!follows) return;
    await sleep(pollMs);
  }
}

/** While following, the file is missing for a moment between the two steps of logrotate. */
function statOf(path: string, follows: boolean): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if (follows && errorCode(error) === 'ENOENT') return undefined;
    const fix =
      errorCode(error) === 'ENOENT'
        ? 'start the server with svc serve, or correct SVC_LOG_FILE'
        : 'run the command as the user of the service';
    throw new CommandError('notFound', 'file_not_found', `${path} cannot be read: ${whyUnreadable(error)}.`, fix);
  }
}

/** The lines of the service's unit in the journal of systemd. */
export async function* linesOfJournal(follows: boolean, since: string | undefined): AsyncGenerator<string> {
  const from =
    since === undefined
      ? ['-n', follows ? '100' : 'all']
      : ['--since', since.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')];
  const args = ['-u', 'svc', '-o', 'cat', '--no-pager', '-q', ...from, ...(follows ? ['-f'] : [])];
  const child = spawn('journalctl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let failure: unknown;
  child.on('error', (error) => {
    failure = error;
  });
  let lines = 0;
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      lines += 1;
      yield line;
    }
  } finally {
    child.kill();
  }
  await sleep(0);
  if (lines > 0 && failure === undefined) return;
  throw new CommandError(
    'notFound',
    'log_not_found',
    failure === undefined
      ? 'The journal has no lines of the unit svc that this user may read, and SVC_LOG_FILE is not set.'
      : 'There is no journal of systemd on this machine, and SVC_LOG_FILE is not set.',
    'run the command with sudo, or let the server write a file: svc config set SVC_LOG_FILE FILE',
  );
}
