import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Failure } from '#src/contract/errors.js';
import { createFrameReader, writeFrame } from './frames.js';
import { type ConvertedImage, type DrawRequest, type ImageAnswer, ImageRefused, type ImageRequest } from './image.js';

/** Most bytes of a source image. */
const maxBytes = 32 * 1024 * 1024;
/** A conversion that takes longer is aborted by killing its process, as is a process without a sign of life for `silentMs`. */
const longestMs = 30_000;
const silentMs = 5000;
/** An idle process is ended after this time, or at once if it has kept more memory than this. */
const idle = { ms: 10_000, residentBytes: 192 * 1024 * 1024 };
const retrySeconds = 5;

/** Converts images in a separate process, one at a time: decoders use hundreds of megabytes and do not release all of it. */
interface Converter {
  convert(pieces: AsyncIterable<Uint8Array>, request: ImageRequest | DrawRequest): Promise<ConvertedImage>;
  close(): void;
}

/** Creates a converter. Its process starts with the first image and ends when idle. */
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
        // Parts of an unfinished request must not reach the next one.
        if (!(error instanceof ImageRefused) || running?.isAsked()) end();
        throw error;
      }
    },
    close: end,
  };
}

type Running = ReturnType<typeof start>;

/** Starts a process. It inherits no environment variables: it needs no secret, and decoders have had vulnerabilities. */
function start() {
  const isSource = import.meta.url.endsWith('.ts');
  const script = fileURLToPath(new URL(isSource ? './process.ts' : './image-process.js', import.meta.url));
  const child = spawn(process.execPath, [...(isSource ? process.execArgv : []), script], {
    // Each arena of the allocator keeps its own memory.
    env: { MALLOC_ARENA_MAX: '2', UV_THREADPOOL_SIZE: '2', LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH },
    // The IPC channel tells the child that this process has ended, whatever the child is doing.
    stdio: ['pipe', 'pipe', 'ignore', 'ipc'],
  });
  const { stdin, stdout } = child;
  // The types do not cover four descriptors.
  if (stdin === null || stdout === null) throw new TypeError('a process without pipes');
  // A broken pipe shows up as the end of the responses.
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
  /** Writes a frame; errors are ignored because they mean that the process has ended. */
  const put = (frame: Uint8Array) => Promise.race([writeFrame(stdin, frame).catch(() => {}), ended]);
  const send = async (pieces: AsyncIterable<Uint8Array>, request: ImageRequest | DrawRequest): Promise<void> => {
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
    /** True if a request was sent, fully or in part, and has no response yet. */
    isAsked: () => isAsked,
    /** An idle process must not keep this one running. */
    hold: (isNeeded: boolean): void => {
      for (const one of [child, child.channel, stdin as Socket, stdout as Socket]) {
        if (isNeeded) one?.ref();
        else one?.unref();
      }
    },
    ask: async (pieces: AsyncIterable<Uint8Array>, request: ImageRequest | DrawRequest) => {
      isAsked = true;
      const kill = () => child.kill('SIGKILL');
      const late = setTimeout(kill, longestMs);
      // A process that was just started is silent for a while.
      let silent: NodeJS.Timeout | undefined;
      const hear = () => {
        clearTimeout(silent);
        // In two steps, so that messages that arrived while this process was busy are handled in between.
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
