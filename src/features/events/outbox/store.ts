import type { AppendedTable } from '#src/platform/db/outbox.js';
import { bigint, instant, nullable, table, text } from '#src/platform/db/table.js';

/** Rows of the audit log. */
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

/** Personal values of those rows; gone where the user was erased. */
export const auditSubjects = table('audit_subjects', {
  entryId: text,
  field: text,
  userId: nullable(text),
  value: text,
  salt: text,
});

/** The columns of an audit row that is appended, in the order over which its HMAC goes. */
export const appendedEntries: AppendedTable = {
  table: auditEntries.name,
  columns: ['id', 'project_id', 'at', 'actor_kind', 'actor_id', 'action', 'resource', 'request_id', 'data', 'mac'],
};

/** The columns of a personal value that is appended. */
export const appendedSubjects: AppendedTable = {
  table: auditSubjects.name,
  columns: ['entry_id', 'field', 'user_id', 'value', 'salt'],
};

/** The columns of an event that is appended. */
export const appendedEvents: AppendedTable = {
  table: 'events',
  columns: ['id', 'project_id', 'type', 'created_at', 'data', 'resource', 'audience'],
};
