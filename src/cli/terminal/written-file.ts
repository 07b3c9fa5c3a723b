import { once } from 'node:events';
import { createWriteStream, realpathSync, renameSync, rmSync, statSync, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { isDiskFull, whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { type CommandError, failedError } from './exit.js';

/** A file written by a command. */
interface WrittenFile {
  /** Appends text or bytes. Waits if the disk is slower. Throws CommandError `file_not_written`. */
  append(text: string | Uint8Array): Promise<void>;
  /** Flushes the file and moves it to its final name. Throws CommandError `file_not_written`. */
  end(): Promise<void>;
  /** Discards the written text and leaves an existing file untouched. */
  giveUp(): void;
}

/**
 * Opens a file for atomic writing: it gets its name after it is complete. Until then it is stored in the same directory, readable by its
 * owner only. A device or a pipe is written directly. Throws CommandError `file_not_written`.
 */
export async function writtenFile(file: string): Promise<WrittenFile> {
  const [target, written] = namesOf(file);
  const stream = await opened(written, file);
  return {
    append: async (text) => {
      if (stream.errored !== null) throw unwritten(file, stream.errored);
      try {
        if (!stream.write(text)) await once(stream, 'drain');
      } catch (error) {
        throw unwritten(file, error);
      }
    },
    end: async () => {
      try {
        stream.end();
        await finished(stream);
        if (written !== target) renameSync(written, target);
      } catch (error) {
        throw unwritten(file, error);
      }
    },
    giveUp: () => {
      stream.destroy();
      if (written !== target) rmSync(written, { force: true });
    },
  };
}

/** Writes a whole file with what the body appends. If the body fails, an existing file stays as it was. */
export async function writeWhole(file: string, body: (append: WrittenFile['append']) => Promise<void>): Promise<void> {
  const target = await writtenFile(file);
  try {
    await body(target.append);
    await target.end();
  } catch (error) {
    target.giveUp();
    throw error;
  }
}

/** The final path, and the path to write to. Throws CommandError if the path is not accessible. */
function namesOf(file: string): readonly [target: string, written: string] {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined && !found.isFile()) return [file, file];
    // A symbolic link is preserved.
    const target = found === undefined ? file : realpathSync(file);
    return [target, `${target}.${process.pid}.part`];
  } catch (error) {
    throw unwritten(file, error);
  }
}

async function opened(path: string, file: string): Promise<WriteStream> {
  const stream = createWriteStream(path, { mode: 0o600 });
  try {
    await once(stream, 'open');
  } catch (error) {
    throw unwritten(file, error);
  }
  // Later errors are reported by the next write.
  stream.on('error', () => {});
  return stream;
}

function unwritten(file: string, error: unknown): CommandError {
  const fix = isDiskFull(error)
    ? 'make room or name a file on another disk, then run the command again'
    : 'name a file that can be written, then run the command again';
  return failedError('file_not_written', `${file} cannot be written: ${whyUnwritable(error)}.`, fix);
}
