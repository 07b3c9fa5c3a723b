// What people were sent: the rows of messages, opened as the job that sends them does.
import type { TestAppliance } from './appliance.js';
import { rowsOf } from './database.js';

/** A message as it waits to be sent. */
interface SentMessage {
  readonly template: string;
  readonly locale: string;
  /** What its text may speak of. */
  readonly locals: Readonly<Record<string, string>>;
}

/** The messages of the test's project to an address or a number, oldest first. */
export async function messagesTo(target: TestAppliance, address: string): Promise<SentMessage[]> {
  const { sealing } = target.appliance.platform;
  const { id, dataKey } = target.project;
  const rows = await rowsOf(target, 'messages', id);
  return rows
    .sort((a, b) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? -1 : 1))
    .map(({ template, locale, sealed }) => {
      const { to, locals } = JSON.parse(sealing.open(id, dataKey, 'messages|sealed', String(sealed)));
      return { to, message: { template: String(template), locale: String(locale), locals } };
    })
    .filter(({ to }) => to === address)
    .map(({ message }) => message);
}
