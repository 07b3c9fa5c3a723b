import type { Runtime } from '#src/platform/index.js';
import { createRecorder } from './service.js';

export { auditEntries, auditSubjects } from './store.js';

/** Registers what turns recorded changes into rows of the audit log and the events. */
export function createEventOutbox(runtime: Pick<Runtime, 'outbox' | 'random' | 'sealing'>): void {
  runtime.outbox.recordWith(createRecorder(runtime));
}
