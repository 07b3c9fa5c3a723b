import type { IncomingMessage } from 'node:http';
import { bodyMs } from '#src/contract/limits.js';
import { hasBody } from './body.js';

/** The handler for a late body, and its timer. The timer is undefined while the reader enforces its own timeout. */
interface Watch {
  readonly onLate: (request: IncomingMessage) => void;
  timer: NodeJS.Timeout | undefined;
}
const watches = new WeakMap<IncomingMessage, Watch>();

/**
 * Limits the time for receiving a request body. Node's own timeout applies to all requests of a server, but file uploads may take longer.
 */
export function watchBodyTime(request: IncomingMessage, onLate: Watch['onLate']): void {
  if (!hasBody(request)) return;
  const watch: Watch = { onLate, timer: undefined };
  watches.set(request, watch);
  start(request, watch);
  request.once('close', () => clearTimeout(watch.timer));
}

/** Suspends the timeout while a file is read: its reader enforces a minimum rate instead. */
export function ownBodyTime(request: IncomingMessage): void {
  clearTimeout(watches.get(request)?.timer);
}

/** Restarts the timeout for the rest of the body after the file. */
export function endOwnBodyTime(request: IncomingMessage): void {
  const watch = watches.get(request);
  if (watch === undefined || request.complete || request.destroyed) return;
  clearTimeout(watch.timer);
  start(request, watch);
}

function start(request: IncomingMessage, watch: Watch): void {
  watch.timer = setTimeout(() => {
    if (!request.complete) watch.onLate(request);
  }, bodyMs).unref();
}
