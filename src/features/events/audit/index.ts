import { implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { createWorker } from '#src/platform/jobs/worker.js';
import type { MasterKeys } from '../../installation/index.js';
import { auditApi } from './api.js';
import { createSubjectErasure } from './erasure/index.js';
import { createAuditStore } from './model/store.js';
import { createAuditJobs } from './sealing/jobs.js';
import { createAuditKeys } from './sealing/keys.js';
import { measureSealing } from './sealing/metrics.js';
import { createSealer } from './sealing/sealer.js';
import { createAuditVerification } from './sealing/verification.js';
import { createAudit } from './service.js';
import { toAuditEntry } from './view.js';

export { recordedOf } from './chain/entry.js';
export { verifyExport } from './chain/export-file.js';
export { publicKeyOf } from './chain/statement.js';
export type { SubjectErasure } from './erasure/index.js';
export { BrokenChainError } from './sealing/sealer.js';
export type { AuditEntry } from './sealing/verification.js';
export { toAuditEntry } from './view.js';

/** The audit log as a hash chain: sealing, reading and verifying it. */
export function createAuditFeature(runtime: Runtime, masterKey: Pick<MasterKeys, 'requireCurrent'>) {
  const store = createAuditStore(runtime.sql);
  const keys = createAuditKeys(runtime, store, masterKey);
  const sealer = createSealer(runtime, store, keys);
  const verification = createAuditVerification(runtime, store, keys);
  const audit = createAudit(runtime, { store, keys, sealer, verification });
  const worker = createWorker({
    round: sealer.run,
    idle: async () => {},
    onTrouble: (error) => runtime.log.error('audit.failed', { error }),
  });
  measureSealing(runtime, store);
  const operations = implement(auditApi, {
    list: async ({ project, query }) => {
      const { cursor, limit, ...filter } = query;
      const before = cursor === undefined ? undefined : Number(cursor);
      const page = await audit.list({ ...filter, projectId: project.id }, { before, limit });
      return {
        entries: page.entries.map(({ row, subjects }) => toAuditEntry(row, subjects)),
        cursor: page.next === null ? '' : String(page.next),
      };
    },
  });
  return {
    audit,
    subjects: createSubjectErasure(runtime),
    worker,
    operations,
    jobs: createAuditJobs(runtime, { store, keys, verification }, worker),
  };
}
