import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import type { Worker } from '#src/platform/jobs/worker.js';
import { headIn } from '../model/head.js';
import type { AuditStore } from '../model/store.js';
import type { AuditKeys } from './keys.js';
import { removeOldEntries } from './retention.js';
import type { Verification } from './verification.js';

/** Periodic jobs: seal new entries, log the head, and remove old entries. */
export function createAuditJobs(
  runtime: Pick<Runtime, 'db' | 'clock' | 'log' | 'config'>,
  parts: { readonly store: AuditStore; readonly keys: AuditKeys; readonly verification: Verification },
  worker: Worker,
): readonly Job[] {
  const { db, log, config } = runtime;
  const { store } = parts;
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
        const head = await headIn(db, store.head());
        if (head === undefined) return;
        const { seq, hash, at, keyId, signature } = head;
        log.info('audit.head', { seq, hash, signedAt: at, key: keyId, signature });
      },
    },
    {
      name: 'audit.prune',
      schedule: '0 47 3 * * *',
      summary: 'Removes entries of the audit log older than SVC_AUDIT_DAYS, and signs a statement of what they were',
      lease: 'database',
      run: async (signal) => {
        const { auditDays } = config;
        if (auditDays !== undefined) await removeOldEntries({ ...runtime, ...parts }, auditDays, signal);
      },
    },
  ];
}
