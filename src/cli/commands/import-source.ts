import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createRefusedTexts, type RefusedLine, refusedAsJson } from '../document-records/refused-lines.js';
import { foundAt } from '../import-sources/found.js';
import type { ApplianceCall } from '../line/command.js';
import { fileNotRead } from '../line/input.js';
import { usageError } from '../terminal/exit.js';
import type { Progress } from '../terminal/progress.js';
import { writtenFile } from '../terminal/written-file.js';

/** Reads a file or stdin until a signal. Also returns the size if known. */
export function importSource(file: string, signal: AbortSignal): [AsyncIterable<Buffer>, number | undefined] {
  if (file === '-') return [chunksUntil(signal, process.stdin, 'stdin'), undefined];
  const found = foundAt(file);
  if (found === undefined) throw fileNotRead(file, 'ENOENT');
  if (found.isDirectory()) throw usageError(`${file} is a directory.`, 'name a file, or - for stdin');
  return [chunksUntil(signal, createReadStream(file), file), found.size];
}

/** Yields the chunks of a stream. A signal also ends the wait for the next chunk. */
async function* chunksUntil(
  signal: AbortSignal,
  stream: Readable,
  name: string,
): AsyncGenerator<Buffer, void, undefined> {
  signal.addEventListener('abort', () => stream.destroy());
  try {
    yield* stream;
  } catch (error) {
    if (!signal.aborted) throw fileNotRead(name, error);
  }
}

/** Creates the report of rejected lines, to a file or stderr. */
export async function refusalReport({ args, output }: ApplianceCall, progress: Progress, imported: string) {
  const file = args.text('--report');
  if (file !== undefined && isSameFile(file, imported))
    throw usageError('--report names the file that is imported.', 'name another file');
  const target = file === undefined ? undefined : await writtenFile(file);
  const texts = createRefusedTexts();
  const tell = async (text: string): Promise<void> => {
    if (text === '') return;
    progress.clear();
    if (!process.stderr.write(text)) await once(process.stderr, 'drain');
  };
  return {
    add: async (refused: RefusedLine): Promise<void> => {
      if (target !== undefined) return target.append(refusedAsJson(refused));
      await tell(output.json ? refusedAsJson(refused) : texts.textOf(refused));
    },
    end: async (): Promise<void> => {
      await tell(texts.rest());
      await target?.end();
    },
  };
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map(foundAt);
  return first?.isFile() === true && first.dev === second?.dev && first.ino === second.ino;
}
