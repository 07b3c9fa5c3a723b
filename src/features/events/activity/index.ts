import { logPage } from '#src/contract/limits.js';
import type { Row } from '#src/platform/db/table.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { recordedOf } from '../audit/index.js';
import { auditEntries, auditSubjects } from '../outbox/index.js';
import { createDeviceReader } from './device.js';
import { createActivityStore } from './store.js';
import type { Activity } from './view.js';

export { createDeviceReader, unknownDevice } from './device.js';
export { type Activity, logListShape, toLog } from './view.js';

/** What is recorded of a user, read back from the audit log. */
export function createActivity({ sql }: Pick<Runtime, 'sql'>) {
  const store = createActivityStore(sql);
  const deviceOf = createDeviceReader();

  /** Where a request came from, in the words of a session; nothing where that was not recorded, or was erased. */
  const clientOf = ({ 'client.ip': ip, 'client.userAgent': userAgent = '' }: Record<string, string>) =>
    ip === undefined ? {} : { ip, ...deviceOf(userAgent) };

  const read = async (reader: Reader, rows: readonly Row[]): Promise<Activity[]> => {
    const entries = rows.map((row) => auditEntries.decode(row));
    if (entries.length === 0) return [];
    const personal = new Map<string, Record<string, string>>();
    for (const row of await reader.all(store.subjects(entries.map(({ id }) => id)))) {
      const { entryId, field, value } = auditSubjects.decode(row);
      personal.set(entryId, { ...personal.get(entryId), [field]: value });
    }
    return entries.map(({ id, at, actorKind, action, data }) => {
      // A personal value is a commitment here, which is not text.
      const recorded = Object.entries(recordedOf(data)).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as const] : [],
      );
      const own = personal.get(id) ?? {};
      // What a session was opened from is not where its end came from.
      return { action, at, by: actorKind, values: { ...Object.fromEntries(recorded), ...own, ...clientOf(own) } };
    });
  };

  return {
    /** A page of it, newest first. */
    list: async (
      reader: Reader,
      projectId: string,
      userId: string,
      page: { readonly limit: number; readonly offset: number },
    ): Promise<Activity[]> =>
      read(reader, await reader.all(store.list({ projectId, userId }, page.limit, page.offset))),
    /** How much there is in all pages, as far as totals count. */
    count: async (reader: Reader, projectId: string, userId: string): Promise<number> =>
      Number((await reader.one(store.count({ projectId, userId }, logPage.counted)))?.total ?? 0),
    /** The user's last logins, newest first. */
    logins: async (reader: Reader, projectId: string, userId: string, limit: number): Promise<Activity[]> =>
      read(reader, await reader.all(store.logins({ projectId, userId }, limit))),
  };
}

/** The activity service. */
export type ActivityLog = ReturnType<typeof createActivity>;
