import { type ErrorType, Failure } from '#src/contract/errors.js';
import { refusalLimits } from '#src/contract/limits.js';
import { byService } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { createWorker, type Worker } from '#src/platform/jobs/worker.js';
import type { Projects } from '../../installation/index.js';

/** Errors that refuse a credential, a permission, or a call over a rate limit. The login code records refused logins individually. */
const refusalTypes: ReadonlySet<ErrorType> = new Set([
  'general_unauthorized_scope',
  'project_key_expired',
  'user_jwt_invalid',
  'user_blocked',
  'user_unauthorized',
  'general_unknown_origin',
  'general_rate_limit_exceeded',
]);

const unknownOrigin = 'general_unknown_origin' satisfies ErrorType;

/** Requests of a project refused for the same reason. */
interface Refusals {
  /** Null for preflight requests, which do not contain the project. */
  readonly projectId: string | null;
  readonly reason: ErrorType;
  /** The address of the first request. */
  readonly ip: string;
  /** The refused origin; undefined if there were too many. */
  readonly origin?: string | undefined;
  count: number;
}

/** Records refused requests. Writes one entry per kind and minute with a count, as callers control the number of requests. */
interface RefusalLog {
  /**
   * Counts a request if the error refuses it. A refused origin counts without an error too, because the browser withholds the response from
   * the page. The server's log also gets the origin, with advice for the operator. `from.origin` is set only if it is refused.
   */
  note(projectId: string | null, error: unknown, from: Pick<Refusals, 'ip' | 'origin'>): void;
  readonly worker: Worker;
}

interface Deps extends Pick<Runtime, 'db' | 'log' | 'random'>, Pick<Projects, 'adviceFor'> {
  /** Counts since the last write, and the number of different origins among them. */
  readonly state: { refused: Map<string, Refusals>; origins: number };
}

/** Creates the log of refused requests. If the process is killed, at most a minute of counts is lost. */
export function createRefusals(
  { db, log, random }: Pick<Runtime, 'db' | 'log' | 'random'>,
  { adviceFor }: Pick<Projects, 'adviceFor'>,
): RefusalLog {
  const deps: Deps = { db, log, random, adviceFor, state: { refused: new Map(), origins: 0 } };
  const worker = createWorker({
    round: async () => {
      await write(deps);
      return false;
    },
    // Writes the counts of the last minute when the process ends.
    idle: () => write(deps).catch(() => {}),
    onTrouble: (error) => log.error('refusals.failed', { error }),
  });
  return {
    note: (projectId, error, { ip, origin }) => {
      const isRefused = error instanceof Failure && refusalTypes.has(error.type) && projectId !== null;
      const reasons = new Set<ErrorType>(isRefused ? [error.type] : []);
      if (origin !== undefined) reasons.add(unknownOrigin);
      for (const reason of reasons) {
        count(deps, { projectId, reason, ip, origin: reason === unknownOrigin ? origin : undefined });
        worker.nudge(refusalLimits.seconds * 1000);
      }
    },
    worker,
  };
}

async function write({ db, random, state }: Deps): Promise<void> {
  if (state.refused.size === 0) return;
  const batch = [...state.refused.values()];
  state.refused = new Map();
  state.origins = 0;
  const requestId = random.id();
  const context = (projectId: string | null) => byService('refusals', projectId, requestId);
  await db.work(context(null), async (unit) => {
    for (const { projectId, reason, ip, origin, count: requests } of batch) {
      const payload = { reason, count: requests, ip, ...(origin === undefined ? {} : { origin }) };
      unit.record('requestsRefused', { resource: 'requests', payload, by: context(projectId) });
    }
  });
}

/** Counts a request. Origins beyond the limit per minute share an entry without an origin. */
function count({ log, adviceFor, state }: Deps, refusal: Omit<Refusals, 'count'>): void {
  const { refused } = state;
  const { projectId, reason } = refusal;
  const isNamed = (refusal.origin?.length ?? 0) <= refusalLimits.originCharacters;
  const keyOf = (name: string | undefined) => `${projectId} ${reason} ${name ?? ''}`;
  const isKnown = refused.has(keyOf(refusal.origin));
  const origin = isNamed && (isKnown || state.origins < refusalLimits.origins) ? refusal.origin : undefined;
  const known = refused.get(keyOf(origin));
  if (known !== undefined) known.count += 1;
  else if (refused.size < refusalLimits.kinds) {
    refused.set(keyOf(origin), { ...refusal, origin, count: 1 });
    if (origin !== undefined) {
      state.origins += 1;
      log.warn('origin.refused', { origin, project: projectId ?? undefined, next: adviceFor(origin, projectId) });
    }
  }
}
