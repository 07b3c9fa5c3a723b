import { randomBytes } from 'node:crypto';
import { Agent, request as send } from 'node:http';
import { expectStatus, type Maker, make } from './maker.js';
import { whileRunning } from './measure.js';
import type { Options } from './options.js';
import { cpuSeconds } from './process-tree.js';
import type { Row } from './row.js';
import type { FileScenario } from './scenario-kinds.js';
import type { Stage } from './stage.js';

const mebibyte = 1_048_576;
/** What a request without parts may carry; larger files come in parts of this size. */
const partBytes = 5 * mebibyte;
const headers = ({ project, key }: Maker) => ({ 'X-Service-Project': project, 'X-Service-Key': key });

/** A request whose answer is read to its end and thrown away. */
interface Transfer {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly status: number;
}

/** Files that come or go, held against Node's streams with the same bytes; the size of one is in bytes. */
export async function measureFiles(scenario: FileScenario, stage: Stage, { rounds }: Options): Promise<Row[]> {
  const bytes = randomBytes(scenario.bytes);
  return whileRunning(stage.startReal(true), async (real) => {
    const maker = { port: real.port, project: stage.world.project, key: stage.world.key };
    const bucket = String(
      (
        await make(maker, '/v1/storage/buckets', {
          bucketId: 'unique()',
          name: 'bench',
          encryption: false,
          maximumFileSize: scenario.bytes,
        })
      ).$id,
    );
    const ofBucket = `/v1/storage/buckets/${bucket}/files`;
    const upload: Transfer = { ...uploadOf(bytes), path: ofBucket, status: 201 };
    const transfer =
      scenario.direction === 'upload'
        ? { ...upload, headers: { ...upload.headers, ...headers(maker) } }
        : await storedFile(maker, ofBucket, bytes);
    return whileRunning(stage.startBareFiles(bytes), async (bare) => {
      const ours: number[] = [];
      const base: number[] = [];
      const count = async (port: number, watched: readonly number[], times: number): Promise<number> => {
        const before = cpuSeconds(watched);
        await repeat(port, transfer, times, scenario.connections);
        return (times * scenario.bytes) / mebibyte / (cpuSeconds(watched) - before);
      };
      for (const server of [real, bare])
        await repeat(server.port, transfer, scenario.connections, scenario.connections);
      for (let round = 0; round < rounds; round++) {
        ours.push(await count(real.port, stage.processesOf(real), scenario.times));
        base.push(await count(bare.port, [bare.pid], scenario.times));
      }
      const target = { of: 'ratio', bound: 'least', value: scenario.target } as const;
      return [{ measure: 'MiB per CPU-second', ours, base, target }];
    });
  });
}

/** Stores a file, in parts where it is large, and returns its download. */
async function storedFile(maker: Maker, path: string, bytes: Buffer): Promise<Transfer> {
  let id: string | undefined;
  for (let from = 0; from < bytes.length; from += partBytes) {
    const part = bytes.subarray(from, from + partBytes);
    const range = { 'Content-Range': `bytes ${from}-${from + part.length - 1}/${bytes.length}` };
    const { body, headers: ofBody } = uploadOf(part);
    const known: Record<string, string> = id === undefined ? {} : { 'X-Service-Id': id };
    const response = await fetch(`http://127.0.0.1:${maker.port}${path}`, {
      method: 'POST',
      headers: { ...headers(maker), ...ofBody, ...(bytes.length > partBytes ? range : {}), ...known },
      body: new Uint8Array(body),
    });
    const text = await response.text();
    if (response.status > 201) throw new Error(`an upload was answered ${response.status}: ${text}`);
    id = String(JSON.parse(text).$id);
  }
  const file = { method: 'GET', path: `${path}/${id}`, headers: headers(maker) } as const;
  await expectStatus(file, maker.port, 200);
  return { ...file, path: `${file.path}/download`, status: 200 };
}

/** The form of an upload, as browsers make it (RFC 7578). */
function uploadOf(bytes: Buffer): { method: 'POST'; headers: Record<string, string>; body: Buffer } {
  const boundary = 'bench-boundary-7d4a';
  const field = (head: string) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n`;
  const begin = `${field('name="fileId"')}\r\nunique()\r\n${field('name="file"; filename="file.bin"')}Content-Type: application/octet-stream\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(begin), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { method: 'POST', headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` }, body };
}

/** Does a transfer so often, over so many connections. Throws where an answer has another status. */
async function repeat(port: number, transfer: Transfer, times: number, connections: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let left = times;
  const work = async () => {
    while (left-- > 0) await once(port, transfer, agent);
  };
  try {
    await Promise.all(Array.from({ length: connections }, work));
  } finally {
    agent.destroy();
  }
}

function once(port: number, { method, path, headers, body, status }: Transfer, agent: Agent): Promise<void> {
  const length = body === undefined ? {} : { 'Content-Length': String(body.length) };
  return new Promise((resolve, reject) => {
    const message = send(
      { host: '127.0.0.1', port, method, path, headers: { ...headers, ...length }, agent },
      (got) => {
        got.on('error', reject).on('end', () => {
          if (got.statusCode === status) resolve();
          else reject(new Error(`${method} ${path} was answered ${got.statusCode}`));
        });
        got.resume();
      },
    );
    message.on('error', reject).end(body);
  });
}
