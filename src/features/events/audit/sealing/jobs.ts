import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import type { Worker } from '#src/platform/jobs/worker.js';
import { type AuditStore, auditHeads } from '../model/store.js';
import type { Retention } from './retention.js';
import { signedHeadOf } from './sealer.js';

/** Periodic jobs: seal new entries, log the head, and remove old entries. */
export function createAuditJobs(
  { db, log, config }: Pick<Runtime, 'db' | 'log' | 'config'>,
  store: AuditStore,
  worker: Worker,
  retention: Retention,
): readonly Job[] {
  const { auditDays } = config;
  return [
    {
      name: 'audit.seal',
      schedule: '* * * * * *',
      summary: 'Numbers, chains and signs the new entries of the audit log',
      lease: 'process',
      run: async () => worker.nudge(),
    },
    {
      name: 'audit.head',
      schedule: '0 0 * * * *',
      summary: 'Writes the signed head of the audit log to the log',
      lease: 'database',
      run: async () => {
        const row = await db.one(store.head());
        if (row === undefined) return;
        const { seq, hash, at, keyId, signature } = signedHeadOf(auditHeads.decode(row));
        log.info('audit.head', { seq, hash, signedAt: at, key: keyId, signature });
      },
    },
    {
      name: 'audit.prune',
      schedule: '0 47 3 * * *',
      summary: 'Removes entries of the audit log older than SVC_AUDIT_DAYS, and signs a statement of what they were',
      lease: 'database',
      run: async (signal) => {
        if (auditDays !== undefined) await retention.run(auditDays, signal);
      },
    },
  ];
}
