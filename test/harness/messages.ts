// Messages to people, as whoever they are sent to would read them.

import assert from 'node:assert/strict';
import type { TestAppliance } from './appliance.js';
import { rowsOf } from './database.js';
import { openSealed } from './sealed.js';

/** A message that was left for somebody. */
export interface TestMessage {
  readonly template: string;
  readonly userId: string | null;
  readonly locale: string;
  readonly to: string;
  /** What its text may speak of. */
  readonly locals: Readonly<Record<string, string>>;
}

/** Every message to a user, or to somebody by the address or number, oldest first. */
export async function messagesTo(
  target: TestAppliance,
  whom: string,
  project = target.project,
): Promise<TestMessage[]> {
  const open = (column: 'recipient' | 'sealed', row: Record<string, unknown>) =>
    openSealed(target, project, ['messages', column, String(row.id)], row[column]);
  const rows = await rowsOf(target, 'messages', project.id);
  return rows
    .sort((a, b) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? -1 : 1))
    .map((row) => ({
      template: String(row.template),
      userId: row.user_id === null ? null : String(row.user_id),
      locale: String(row.locale),
      to: open('recipient', row),
      // Wiped where it was sent, or too old to be.
      locals: row.sealed === '' ? {} : JSON.parse(open('sealed', row)),
    }))
    .filter(({ to, userId }) => to === whom || userId === whom);
}

/** The newest of them; there has to be one. */
export async function lastMessageTo(target: TestAppliance, to: string, project = target.project): Promise<TestMessage> {
  const last = (await messagesTo(target, to, project)).at(-1);
  assert.ok(last, `no message to ${to}`);
  return last;
}
