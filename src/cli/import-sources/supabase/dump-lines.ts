import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { usageError } from '../../terminal/exit.js';

/** A line without its end, and its position in the file. */
interface DumpLine {
  readonly bytes: Buffer;
  readonly offset: number;
}

/** Most bytes of a line, which is a row with all its values. */
const maxBytes = 268_435_456;

/** Reads the lines of a file from a position. Throws CommandError for a longer line. */
export async function* dumpLines(file: string, from = 0): AsyncGenerator<DumpLine, void, undefined> {
  let waiting: Buffer[] = [];
  let size = 0;
  let offset = from;
  for await (const chunk of createReadStream(file, { start: from, highWaterMark: 262_144 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const part = chunk.subarray(start, end);
      const bytes = waiting.length === 0 ? part : Buffer.concat([...waiting, part]);
      yield { bytes, offset };
      offset += bytes.length + 1;
      [waiting, size, start] = [[], 0, end + 1];
    }
    const rest = chunk.subarray(start);
    if (rest.length > 0) waiting.push(rest);
    size += rest.length;
    if (size > maxBytes) throw usageError(`${file} has a line of more than ${maxBytes} bytes.`);
  }
  if (size > 0) yield { bytes: Buffer.concat(waiting), offset };
}

/** Throws CommandError unless the file is a dump in plain format. */
export async function requirePlainDump(file: string): Promise<void> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    const head = buffer.subarray(0, bytesRead);
    if (head.subarray(0, 5).toString('latin1') === 'PGDMP')
      throw usageError(`${file} is a dump in the custom format.`, `convert it: pg_restore -f dump.sql ${file}`);
    if (head.subarray(257, 262).toString('latin1') === 'ustar')
      throw usageError(`${file} is a dump in the tar format.`, `convert it: pg_restore -f dump.sql ${file}`);
    if (head[0] === 0x1f && head[1] === 0x8b) throw usageError(`${file} is compressed.`, `unpack it: gunzip ${file}`);
    if (head.includes(0)) throw usageError(`${file} is no dump of Postgres.`, 'make one with pg_dump -f dump.sql');
  } finally {
    await handle.close();
  }
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** The values of a line of COPY. */
export function copiedValues(line: string): (string | null)[] {
  return line.split('\t').map((text) => {
    if (text === '\\N') return null;
    return text.includes('\\') ? text.replace(/\\(.)/g, (_, one: string) => escapes[one] ?? one) : text;
  });
}
