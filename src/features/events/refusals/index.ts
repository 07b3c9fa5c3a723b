import { type ErrorType, Failure } from '#src/contract/errors.js';
import { refusalLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { createWorker, type Worker } from '#src/platform/worker.js';

/** Errors that refuse a credential, a right or one call too many. Refused logins are recorded one by one, where they are judged. */
const refusalTypes: ReadonlySet<ErrorType> = new Set([
  'general_unauthorized_scope',
  'project_key_expired',
  'user_jwt_invalid',
  'user_blocked',
  'user_unauthorized',
  'general_unknown_origin',
  'general_rate_limit_exceeded',
]);

/** Requests of a project that were refused for one reason. */
interface Refusals {
  readonly projectId: string;
  readonly reason: ErrorType;
  /** From where the first of them came. */
  readonly ip: string;
  count: number;
}

/** Records refused requests: as callers decide how many there are, not each, but how many there were of each kind in a minute. */
interface RefusalLog {
  /** Counts a request, if the error refuses it. */
  note(projectId: string, error: unknown, ip: string): void;
  readonly worker: Worker;
}

/** Creates the record of refused requests. What is not written yet when the process is killed is lost: at most a minute of it. */
export function createRefusals({ db, log, random }: Pick<Runtime, 'db' | 'log' | 'random'>): RefusalLog {
  let refused = new Map<string, Refusals>();
  const write = async (): Promise<void> => {
    if (refused.size === 0) return;
    const batch = [...refused.values()];
    refused = new Map();
    const context = (projectId: string) => ({ projectId, actor: { kind: 'service', id: 'refusals' }, requestId });
    const requestId = random.id();
    await db.work({ ...context(''), projectId: null }, async (unit) => {
      for (const { projectId, reason, ip, count } of batch) {
        const payload = { reason, count, ip };
        unit.record('requestsRefused', { resource: 'requests', payload, by: context(projectId) });
      }
    });
  };
  const worker = createWorker({
    round: async () => {
      await write();
      return false;
    },
    // The last minute of a process that ends.
    idle: () => write().catch(() => {}),
    onTrouble: (error) => log.error('refusals.failed', { error }),
  });
  return {
    note: (projectId, error, ip) => {
      if (!(error instanceof Failure && refusalTypes.has(error.type))) return;
      const key = `${projectId} ${error.type}`;
      const known = refused.get(key);
      if (known !== undefined) known.count += 1;
      else if (refused.size < refusalLimits.kinds) refused.set(key, { projectId, reason: error.type, ip, count: 1 });
      worker.nudge(refusalLimits.seconds * 1000);
    },
    worker,
  };
}
