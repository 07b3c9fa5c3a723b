import type { Runtime } from '#src/platform/index.js';
import { createRecorder } from './service.js';

export { createPayloads, type Payloads } from './payloads/index.js';
export { auditEntries, auditSubjects } from './store.js';

/** Registers the recorder, which converts changes to audit entries and events. */
export function createEventOutbox(runtime: Pick<Runtime, 'outbox' | 'random' | 'sealing'>): void {
  runtime.outbox.recordWith(createRecorder(runtime));
}
