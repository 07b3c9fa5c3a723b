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

/** The activity service. */
export interface ActivityLog {
  /** A page of the activity, newest first. */
  list(
    reader: Reader,
    projectId: string,
    userId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<Activity[]>;
  /** The number of entries, up to the limit of totals. */
  count(reader: Reader, projectId: string, userId: string): Promise<number>;
  /** The user's last logins, newest first. */
  logins(reader: Reader, projectId: string, userId: string, limit: number): Promise<Activity[]>;
}

/** The activity of users, read from the audit log. */
export function createActivity({ sql }: Pick<Runtime, 'sql'>): ActivityLog {
  const store = createActivityStore(sql);
  const deviceOf = createDeviceReader();

  /** IP address and device of a request, in the format of sessions. Empty if they were not recorded or are erased. */
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
      // Skips personal values: in `data` they are commitments, not text.
      const recorded = Object.entries(recordedOf(data)).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as const] : [],
      );
      const own = personal.get(id) ?? {};
      // `clientOf` comes last: the request may come from another device than the recorded session.
      return { action, at, by: actorKind, values: { ...Object.fromEntries(recorded), ...own, ...clientOf(own) } };
    });
  };

  return {
    list: async (reader, projectId, userId, page) =>
      read(reader, await reader.all(store.list({ projectId, userId }, page.limit, page.offset))),
    count: async (reader, projectId, userId) =>
      Number((await reader.one(store.count({ projectId, userId }, logPage.counted)))?.total ?? 0),
    logins: async (reader, projectId, userId, limit) =>
      read(reader, await reader.all(store.logins({ projectId, userId }, limit))),
  };
}
