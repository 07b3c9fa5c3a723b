import type { IncomingMessage } from 'node:http';
import { bodyMs } from '#src/contract/limits.js';
import { hasBody } from './body.js';

/** What ends a request whose body is late, and its timer; the timer is absent while a reader bounds the time by itself. */
interface Watch {
  readonly onLate: (request: IncomingMessage) => void;
  timer: NodeJS.Timeout | undefined;
}
const watches = new WeakMap<IncomingMessage, Watch>();

/**
 * Bounds the time in which the body of a request arrives. Node's own bound holds for every request of a server, and a file may take longer
 * than everything else.
 */
export function watchBodyTime(request: IncomingMessage, onLate: Watch['onLate']): void {
  if (!hasBody(request)) return;
  const watch: Watch = { onLate, timer: undefined };
  watches.set(request, watch);
  start(request, watch);
  request.once('close', () => clearTimeout(watch.timer));
}

/** Leaves the time of what follows to its reader: a file that has begun. */
export function ownBodyTime(request: IncomingMessage): void {
  clearTimeout(watches.get(request)?.timer);
}

/** Bounds the time again, for what follows the file. */
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
