import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { EventStream, StreamSink } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import type { RequestContext } from './request-context.js';

/** An SSE comment that keeps proxies and clients from closing an idle connection. */
const heartbeat = ': \n\n';

/** True if the client accepts server-sent events. */
export function acceptsEventStream({ req }: RequestContext): boolean {
  return /(?:^|,)\s*text\/event-stream\s*(?:[;,]|$)/i.test(req.headers.accept ?? '');
}

/** Writes the text of a stream to a response. */
class ResponseSink implements StreamSink {
  readonly signal: AbortSignal;
  readonly #response: ServerResponse;
  #taken = 0;
  #isWriting = false;
  #isIdle = true;

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response;
    this.signal = signal;
  }

  async write(text: string): Promise<void> {
    this.#isWriting = true;
    for (const part of partsOf(text)) {
      if (this.signal.aborted) break;
      if (!this.#response.write(part)) await drained(this.#response, this.signal);
      this.#taken += part.length;
    }
    this.#isWriting = false;
    this.#isIdle = false;
  }

  taken(): number {
    return this.#taken;
  }

  cut(): void {
    this.#response.destroy();
  }

  /** Sends a comment if nothing was sent since the last call. */
  beat(): void {
    if (this.#isIdle && !this.#isWriting) this.#response.write(heartbeat);
    this.#isIdle = true;
  }
}

/** Writes streams of server-sent events. Disconnects clients that stop reading; they resume with `Last-Event-ID`. */
export function createEventStreamWriter({ log }: Pick<Runtime, 'log'>) {
  return (context: RequestContext, stream: EventStream): void => {
    const { ctx, requestId } = context;
    const { res: response } = ctx;
    context.response.writeStreamHead(ctx);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    if (ctx.method === 'HEAD') gone.abort();
    const sink = new ResponseSink(response, gone.signal);
    const timer = setInterval(() => sink.beat(), feedLimits.heartbeatMs).unref();
    stream
      .run(sink)
      .catch((error: unknown) =>
        log.warn('stream.failed', { requestId, error: error instanceof Error ? error.name : typeof error }),
      )
      .finally(() => {
        clearInterval(timer);
        response.end();
      });
  };
}

/** Splits a long text into chunks, so that progress of slow clients is visible. */
function* partsOf(text: string): Generator<string | Buffer> {
  if (text.length <= feedLimits.partBytes) {
    yield text;
    return;
  }
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += feedLimits.partBytes) yield bytes.subarray(at, at + feedLimits.partBytes);
}

/** Resolves after `drain` or if the stream is aborted. Destroys the connection after a timeout. */
async function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  const timer = setTimeout(() => response.destroy(), feedLimits.stallMs);
  await once(response, 'drain', { signal }).catch(() => {});
  clearTimeout(timer);
}
