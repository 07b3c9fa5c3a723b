import { once } from 'node:events';
import { createWriteStream, realpathSync, renameSync, rmSync, statSync, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { isDiskFull, whyUnwritable } from '#src/platform/system-errors.js';
import { CommandError } from './exit.js';

/** A file that a command writes. */
interface WrittenFile {
  /** Waits where the disk is slower. Throws CommandError `file_not_written`. */
  append(text: string): Promise<void>;
  /** Everything is written: the file has its name now. Throws CommandError `file_not_written`. */
  end(): Promise<void>;
  /** Takes away what was written, and leaves what was there before. */
  giveUp(): void;
}

/**
 * Opens a file that is there under its name once it is whole: until then it is written beside it, readable by its owner only. What is no
 * regular file, such as a device or a pipe, is written at once. Throws CommandError `file_not_written`.
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

/** Where the file will be, and where it is written. Throws CommandError where that may not be looked at. */
function namesOf(file: string): readonly [target: string, written: string] {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined && !found.isFile()) return [file, file];
    // A link stays a link.
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
  // What fails later is told by the write that finds it.
  stream.on('error', () => {});
  return stream;
}

function unwritten(file: string, error: unknown): CommandError {
  const fix = isDiskFull(error)
    ? 'make room or name a file on another disk, then run the command again'
    : 'name a file that can be written, then run the command again';
  return new CommandError('failed', 'file_not_written', `${file} cannot be written: ${whyUnwritable(error)}.`, fix);
}
