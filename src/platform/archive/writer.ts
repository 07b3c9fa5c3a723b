import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';

/** An entry of an archive. */
export interface ArchiveEntry {
  readonly name: string;
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** The last line of an archive, with the digest of what precedes it. */
export const trailerOf = (sha256: string): Uint8Array => Buffer.from(`sha256 ${sha256}\n`);
/** Its length. */
export const trailerBytes = trailerOf('0'.repeat(64)).length;

/**
 * A tar archive (POSIX.1-2001) of entries, as bytes, followed by a line with the SHA-256 of all that precedes it. Programs such as `tar`
 * ignore the line. Throws if an entry has another size than it states.
 */
export async function* archiveOf(entries: AsyncIterable<ArchiveEntry>, at: Date): AsyncGenerator<Uint8Array> {
  const archive = pack();
  const digest = createHash('sha256');
  const written = write(entries, archive, at).catch((error: Error) => archive.destroy(error));
  for await (const piece of archive as AsyncIterable<Uint8Array>) {
    digest.update(piece);
    yield piece;
  }
  await written;
  yield trailerOf(digest.digest('hex'));
}

async function write(entries: AsyncIterable<ArchiveEntry>, archive: Pack, at: Date): Promise<void> {
  for await (const { name, size, bytes } of entries)
    await new Promise<void>((resolve, reject) => {
      const header = { name, size, mtime: at, mode: 0o600 };
      const entry = archive.entry(header, (error) => (error ? reject(error) : resolve()));
      fill(entry, bytes).catch(reject);
    });
  archive.finalize();
}

async function fill(entry: ReturnType<Pack['entry']>, bytes: ArchiveEntry['bytes']): Promise<void> {
  for await (const piece of bytes) if (!entry.write(piece)) await once(entry, 'drain');
  entry.end(null);
}

const compress = promisify(gzip);

/** Bytes of text in one part of a table. */
const partBytes = 4_194_304;

/** Compressed parts of JSON lines, each an entry, and a digest of every part. */
export async function* linesIn(
  prefix: string,
  rows: AsyncIterable<readonly unknown[]>,
  onPart: (part: {
    readonly name: string;
    readonly size: number;
    readonly sha256: string;
    readonly rows: number;
  }) => void,
): AsyncGenerator<ArchiveEntry> {
  let lines: string[] = [];
  let [size, number] = [0, 0];
  const part = async (): Promise<ArchiveEntry> => {
    const bytes = await compress(lines.join('\n'), { level: 1 });
    const name = `${prefix}/${String(++number).padStart(6, '0')}.ndjson.gz`;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    onPart({ name, size: bytes.length, sha256, rows: lines.length });
    lines = [];
    size = 0;
    return { name, size: bytes.length, bytes: [bytes] };
  };
  for await (const some of rows)
    for (const row of some) {
      const line = JSON.stringify(row);
      lines.push(line);
      size += line.length;
      if (size >= partBytes) yield await part();
    }
  if (lines.length > 0) yield await part();
}
