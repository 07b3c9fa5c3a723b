// Messages to people, as whoever they are sent to would read them.
import assert from 'node:assert/strict';
import type { TestAppliance } from './appliance.js';
import { rowsOf } from './database.js';

/** A message that was left for somebody. */
export interface TestMessage {
  readonly template: string;
  readonly userId: string | null;
  readonly locale: string;
  readonly to: string;
  /** What its text may speak of. */
  readonly locals: Readonly<Record<string, string>>;
}

/** Every message to an address or a number, oldest first. */
export async function messagesTo(target: TestAppliance, to: string, project = target.project): Promise<TestMessage[]> {
  const { sealing } = target.appliance.platform;
  const rows = await rowsOf(target, 'messages', project.id);
  return rows
    .sort((a, b) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? -1 : 1))
    .map((row) => ({
      template: String(row.template),
      userId: row.user_id === null ? null : String(row.user_id),
      locale: String(row.locale),
      ...JSON.parse(sealing.open(project.id, project.dataKey, 'messages|sealed', String(row.sealed))),
    }))
    .filter((message) => message.to === to);
}

/** The newest message to an address or a number; there has to be one. */
export async function lastMessageTo(target: TestAppliance, to: string, project = target.project): Promise<TestMessage> {
  const last = (await messagesTo(target, to, project)).at(-1);
  assert.ok(last, `no message to ${to}`);
  return last;
}
