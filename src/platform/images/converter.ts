import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Failure } from '#src/contract/errors.js';
import { createFrameReader, writeFrame } from './frames.js';
import { type ConvertedImage, type ImageAnswer, ImageRefused, type ImageRequest } from './image.js';

/** Bytes of an image that is read. */
const maxBytes = 32 * 1024 * 1024;
/** A conversion that takes longer is ended together with its process, and so is a process that gives no sign of life for `silentMs`. */
const longestMs = 30_000;
const silentMs = 5000;
/** A process without work ends after this time, and at once where it has kept more memory than this. */
const idle = { ms: 10_000, residentBytes: 192 * 1024 * 1024 };
const retrySeconds = 5;

/** Converts images in a process of its own, one at a time: decoders take hundreds of megabytes, and keep a good part of them. */
interface Converter {
  convert(pieces: AsyncIterable<Uint8Array>, request: ImageRequest): Promise<ConvertedImage>;
  close(): void;
}

/** Creates a converter; its process begins with the first image, and ends when there are none. */
export function createConverter(): Converter {
  let running: Running | undefined;
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(timer);
    running?.child.kill('SIGKILL');
    running = undefined;
  };
  const rest = (residentBytes: number): void => {
    running?.hold(false);
    if (residentBytes > idle.residentBytes) end();
    else timer = setTimeout(end, idle.ms).unref();
  };
  return {
    convert: async (pieces, request) => {
      clearTimeout(timer);
      running = running?.isAlive() ? running : start();
      const at = running;
      at.hold(true);
      try {
        const { answer, bytes } = await at.ask(pieces, request);
        rest(answer.residentBytes);
        if ('refused' in answer) throw new ImageRefused(answer.refused);
        return { format: answer.format, bytes };
      } catch (error) {
        // Of what was sent in part nothing may be left for the next.
        if (!(error instanceof ImageRefused) || running?.isAsked()) end();
        throw error;
      }
    },
    close: end,
  };
}

type Running = ReturnType<typeof start>;

/** Starts a process. It inherits nothing of the environment: it needs no secret, and decoders have had holes. */
function start() {
  const isSource = import.meta.url.endsWith('.ts');
  const script = fileURLToPath(new URL(isSource ? './process.ts' : './image-process.js', import.meta.url));
  const child = spawn(process.execPath, [...(isSource ? process.execArgv : []), script], {
    // Each arena of the allocator keeps memory of its own.
    env: { MALLOC_ARENA_MAX: '2', UV_THREADPOOL_SIZE: '2', LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH },
    // By the channel it learns that this process has gone, whatever it does then.
    stdio: ['pipe', 'pipe', 'ignore', 'ipc'],
  });
  const { stdin, stdout } = child;
  // The types know no four descriptors.
  if (stdin === null || stdout === null) throw new TypeError('a process without pipes');
  // A broken pipe is told by the end of the answers.
  stdin.on('error', () => {});
  child.on('error', () => {});
  const next = createFrameReader(stdout);
  const ended = once(child, 'close').catch(() => {});
  let isAsked = false;
  let isUp = false;
  child.once('message', () => {
    isUp = true;
  });
  const read = async (): Promise<Buffer> => {
    const frame = await next().catch(() => undefined);
    if (frame === undefined)
      throw new Failure('general_unavailable', { retryAfter: retrySeconds, cause: endOf(child) });
    return frame;
  };
  /** Writes that fail are those to a process that has ended. */
  const put = (frame: Uint8Array) => Promise.race([writeFrame(stdin, frame).catch(() => {}), ended]);
  const send = async (pieces: AsyncIterable<Uint8Array>, request: ImageRequest): Promise<void> => {
    await put(Buffer.from(JSON.stringify(request)));
    let size = 0;
    for await (const piece of pieces) {
      size += piece.length;
      if (size > maxBytes) throw new ImageRefused('too-large');
      if (piece.length > 0) await put(piece);
    }
    await put(Buffer.alloc(0));
  };
  return {
    child,
    isAlive: () => child.exitCode === null && child.signalCode === null && !child.killed,
    /** Whether a request has been sent, or begun, that was not answered. */
    isAsked: () => isAsked,
    /** A process that does nothing keeps nobody waiting for it. */
    hold: (isNeeded: boolean): void => {
      for (const one of [child, child.channel, stdin as Socket, stdout as Socket]) {
        if (isNeeded) one?.ref();
        else one?.unref();
      }
    },
    ask: async (pieces: AsyncIterable<Uint8Array>, request: ImageRequest) => {
      isAsked = true;
      const kill = () => child.kill('SIGKILL');
      const late = setTimeout(kill, longestMs);
      // A process that has just been started says nothing for a while.
      let silent: NodeJS.Timeout | undefined;
      const hear = () => {
        clearTimeout(silent);
        // In two steps: what has arrived while this process was busy is heard between them.
        silent = setTimeout(() => {
          silent = setTimeout(kill, 100);
        }, silentMs);
      };
      if (isUp) hear();
      child.on('message', hear);
      try {
        await send(pieces, request);
        const answer: ImageAnswer = JSON.parse((await read()).toString());
        const bytes = await read();
        isAsked = false;
        return { answer, bytes };
      } finally {
        clearTimeout(late);
        clearTimeout(silent);
        child.off('message', hear);
      }
    },
  };
}

function endOf({ exitCode, signalCode }: ChildProcess): string {
  return `the process that converts images ended: ${signalCode ?? exitCode}`;
}
