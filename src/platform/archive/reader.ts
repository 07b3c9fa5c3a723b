import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { type ArchiveEntry, trailerBytes, trailerOf } from './writer.js';

/** The bytes are not those of a whole archive that was written by `archiveOf`. */
export class DamagedArchiveError extends Error {
  override readonly name = 'DamagedArchiveError';
}

/**
 * The entries of an archive, in order. Read each to its end before the next. Throws DamagedArchiveError: at the end, if the digest of the
 * whole archive differs.
 */
export async function* entriesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const archive = extract();
  let failure: Error | undefined;
  const fed = feed(bytes, archive).catch((error: Error) => {
    failure = error;
    archive.destroy(error);
  });
  try {
    for await (const entry of archive) {
      const { name, size } = entry.header;
      yield { name, size: size ?? 0, bytes: entry as AsyncIterable<Uint8Array> };
    }
    await fed;
  } catch (error) {
    // Without an error of the source, the bytes themselves are invalid.
    throw failure ?? (error instanceof DamagedArchiveError ? error : damaged(error));
  }
  if (failure !== undefined) throw failure;
}

const damaged = (cause: unknown) =>
  new DamagedArchiveError('it is not a backup, or its beginning is damaged', { cause });

/** Passes the archive on without its last line, which it compares with the digest. */
async function feed(bytes: AsyncIterable<Uint8Array>, archive: ReturnType<typeof extract>): Promise<void> {
  const digest = createHash('sha256');
  let tail = Buffer.alloc(0);
  for await (const piece of bytes) {
    const all = Buffer.concat([tail, piece]);
    const known = all.subarray(0, Math.max(0, all.length - trailerBytes));
    tail = Buffer.from(all.subarray(known.length));
    digest.update(known);
    if (known.length > 0 && !archive.write(known)) await once(archive, 'drain');
  }
  if (!tail.equals(trailerOf(digest.digest('hex'))))
    throw new DamagedArchiveError('its digest differs: it is incomplete, or some of its bytes were changed');
  archive.end(null);
}

const decompress = promisify(gunzip);

/** Reads an entry whole; only for entries of some megabytes. */
export async function wholeOf({ bytes }: ArchiveEntry): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The values of JSON lines that `linesIn` compressed. Throws DamagedArchiveError. */
export async function parseLines(part: Uint8Array): Promise<unknown[]> {
  try {
    const text = (await decompress(part)).toString();
    return text.split('\n').map((line) => JSON.parse(line));
  } catch (cause) {
    throw new DamagedArchiveError('one of its parts is damaged', { cause });
  }
}
