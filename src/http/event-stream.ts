import type { ServerResponse } from 'node:http';
import type { EventStream, StreamSink } from '#src/contract/event-stream.js';
import { feedLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import type { RequestContext } from './request-context.js';

/** A comment, which keeps proxies and clients from giving the connection up. */
const heartbeat = ': \n\n';

/** Whether the client asks for server-sent events. */
export function acceptsEventStream({ req }: RequestContext): boolean {
  return /(?:^|,)\s*text\/event-stream\s*(?:[;,]|$)/i.test(req.headers.accept ?? '');
}

/** Writes streams of server-sent events. A client that does not read in time is cut off; it goes on at the last id that it has. */
export function createEventStreamWriter({ log }: Pick<Runtime, 'log'>) {
  const sinkOf = (response: ServerResponse, signal: AbortSignal, wrote: () => void): StreamSink => ({
    signal,
    write: async (text) => {
      if (signal.aborted) return;
      wrote();
      if (response.write(text)) return;
      await drained(response, signal);
    },
  });
  return (context: RequestContext, stream: EventStream): void => {
    const { ctx, requestId } = context;
    const { res: response } = ctx;
    context.response.writeStreamHead(ctx);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    if (ctx.method === 'HEAD') gone.abort();
    let isIdle = true;
    const timer = setInterval(() => {
      if (isIdle && !response.writableNeedDrain) response.write(heartbeat);
      isIdle = true;
    }, feedLimits.heartbeatMs).unref();
    const sink = sinkOf(response, gone.signal, () => {
      isIdle = false;
    });
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

/** Resolves when the client has read on; cuts the connection where it does not in time. */
function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(() => response.destroy(), feedLimits.stallMs);
    response.once('drain', done);
    signal.addEventListener('abort', done);
  });
}
