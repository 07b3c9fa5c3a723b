import type { Runtime } from '#src/platform/index.js';
import type { RequestContext } from './request-context.js';
import { knownMethods } from './routes.js';

/** Operations that monitoring calls every few seconds; logged at level debug. */
const probes: ReadonlySet<string> = new Set(['operations.health', 'operations.ready', 'operations.metrics']);

/** Counts a response in the metrics and writes its line to the log. */
export function createAccessLog({ clock, log, metrics }: Pick<Runtime, 'clock' | 'log' | 'metrics'>) {
  return ({
    ctx,
    requestId,
    ip,
    started,
    operation,
    project,
    actor,
    errorType,
    missing,
    traceId,
  }: RequestContext): void => {
    const { status, method } = ctx;
    const seconds = (clock.monotonic() - started) / 1000;
    const route = operation?.declaration.id ?? 'none';
    metrics.request(knownMethods.has(method) ? method : 'other', route, status, seconds);
    const isProbe = probes.has(route);
    if (!log.isOn(isProbe ? 'debug' : 'info')) return;
    const fields = {
      requestId,
      method,
      path: operation?.declaration.path,
      route,
      status,
      ms: Math.round(seconds * 1e5) / 100,
      project: project?.id,
      actor: actor === undefined || actor.kind === 'guest' ? actor?.kind : `${actor.kind}:${actor.id}`,
      ip,
      type: errorType,
      missing,
      traceId,
    };
    if (isProbe) log.debug('probe', fields);
    else log.info('request', fields);
  };
}
