import type { AppendedTable } from '#src/platform/db/outbox.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';

/** Entries of the audit log. */
export const auditEntries = table('audit_entries', {
  id: text,
  projectId: nullable(text),
  at: instant,
  actorKind: text,
  actorId: text,
  action: text,
  resource: text,
  requestId: text,
  data: text,
  mac: text,
  seq: nullable(bigint),
  previousHash: nullable(text),
  hash: nullable(text),
});

/** Personal values of audit entries. Deleted when the user is erased. */
export const auditSubjects = table('audit_subjects', {
  entryId: text,
  field: text,
  userId: nullable(text),
  value: text,
  salt: text,
});

/** Columns of a new audit entry. The HMAC covers them in this order. */
export const appendedEntries: AppendedTable = {
  table: auditEntries.name,
  columns: ['id', 'project_id', 'at', 'actor_kind', 'actor_id', 'action', 'resource', 'request_id', 'data', 'mac'],
};

/** Columns of a new personal value. */
export const appendedSubjects: AppendedTable = {
  table: auditSubjects.name,
  columns: ['entry_id', 'field', 'user_id', 'value', 'salt'],
};

/** Columns of a new event. */
export const appendedEvents: AppendedTable = {
  table: 'events',
  columns: ['id', 'project_id', 'type', 'created_at', 'data', 'resource', 'audience'],
};
