import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import { isCommitment, recordedOf, type Subject } from './chain/entry.js';
import type { AuditRow } from './model/store.js';

/** An entry of the audit log on the wire. */
export const auditEntryShape = z
  .object({
    seq: z.int().meta({ description: 'The number of the entry, without gaps over all projects of the installation' }),
    $id: z.string(),
    at: wireInstant,
    actor: z.object({
      kind: z.string().meta({ description: 'user, guest, key, operator, job or service' }),
      id: z.string(),
    }),
    action: z.string().meta({ description: 'The name of what was recorded, as docs/events.md lists them' }),
    resource: z.string(),
    requestId: z.string(),
    data: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What was recorded; a personal value that was erased is null' }),
    hash: z.string().meta({ description: 'The hash of the chain up to this entry' }),
  })
  .meta({ id: 'AuditEntry' });

/** A page of the audit log on the wire. */
export const auditListShape = z
  .object({
    entries: z.array(auditEntryShape),
    cursor: z.string().meta({ description: 'Where to go on, also where entries is empty; empty at the end' }),
  })
  .meta({ id: 'AuditEntryList' });

/** Converts an entry with its remaining personal values to its wire format. */
export function toAuditEntry(row: AuditRow, subjects: readonly Subject[]): z.input<typeof auditEntryShape> {
  const values = new Map(subjects.map(({ field, value }) => [field, value]));
  const recorded = Object.entries(recordedOf(row.data)).map(([field, value]) => [
    field,
    isCommitment(value) ? (values.get(field) ?? null) : value,
  ]);
  return {
    seq: row.seq ?? 0,
    $id: row.id,
    at: toWireInstant(row.at),
    actor: { kind: row.actorKind, id: row.actorId },
    action: row.action,
    resource: row.resource,
    requestId: row.requestId,
    data: Object.fromEntries(recorded),
    hash: row.hash ?? '',
  };
}
