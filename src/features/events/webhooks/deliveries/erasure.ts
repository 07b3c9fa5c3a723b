import type { z } from 'zod';
import type { erasedPayload } from '#src/contract/events.js';
import { isSealed } from '#src/platform/crypto/sealing.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import { forUpdate, joined, oneOf, raw } from '#src/platform/db/template.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Payloads } from '../../outbox/index.js';

/** Events searched per statement. */
const window = 5000;
/** Ids in a payload. They stay, as subscribers identify the resource by them. */
const ids = [
  '$id',
  'userId',
  'teamId',
  'bucketId',
  '$databaseId',
  '$collectionId',
] as const satisfies readonly (keyof z.output<typeof erasedPayload>)[];

/** SQL that erases personal data from events and from the responses of receivers. */
function createErasureStore(sql: Sql) {
  const { positionOf, json, eachInJson } = sql.words;
  const creatorOf = raw(`${json('audience')} ->> 'creator'`);
  return {
    windowEnd: (after: string) =>
      sql`select id from events where id > ${after} order by id limit 1 offset ${raw(String(window - 1))}`,
    /**
     * Events of a project between two ids that contain one of the texts or are sealed, and events of files created by the user. Files of
     * others are not about the user. Documents are kept, but not their earlier states.
     */
    holding: (
      projectId: string,
      { texts, creator }: { texts: readonly string[]; creator: string },
      after: string,
      end: string | undefined,
    ) => {
      // Searches the audience too: it contains versions of a membership for other members of the team.
      const holds = texts.map((text) => sql`${raw(`${positionOf}(data || coalesce(audience, ''), ?)`, [text])} > 0`);
      return sql`
        select id, data from events where id > ${after} ${end !== undefined && sql`and id <= ${end}`}
          and project_id = ${projectId} and (case when type like 'file%' then ${creatorOf} = ${creator}
            else data not like '{%' or ${joined(holds, ' or ')} end)`;
    },
    /** Removes the audience, except of document events. Without one, only server keys can read an event. */
    replaceEvents: (values: readonly (readonly [string, string])[]) => sql`
      update events set data = given.value ->> 1,
        audience = case when events.type like 'document%' then events.audience end
      from ${raw(eachInJson('given'), [JSON.stringify(values)])} where events.id = given.value ->> 0`,
    /** Locks deliveries until the end of the unit. A delivery claimed later posts the erased event. */
    deliveries: (eventIds: readonly string[]) =>
      sql`select id, event_id, state from deliveries where event_id ${oneOf(eventIds)}${forUpdate}`,
    dropResponses: (deliveryIds: readonly string[]) =>
      sql`update delivery_attempts set response = '' where delivery_id ${oneOf(deliveryIds)}`,
  };
}

/** The payload of an event after an erasure. */
function erasedData(data: unknown): string {
  const before: Readonly<Record<string, unknown>> = typeof data === 'object' && data !== null ? { ...data } : {};
  return JSON.stringify({ ...idsOf(before), erased: true });
}

function idsOf(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(ids.flatMap((name) => (typeof data[name] === 'string' ? [[name, data[name]]] : [])));
}

/** Reduces a payload to its ids. */
export function idsIn(data: string): string {
  return JSON.stringify(idsOf(JSON.parse(data)));
}

/** Erases personal data from events. */
export interface EventErasure {
  /**
   * Erases events that contain the user's id or one of the contacts, and events of the user's files. Returns the number of newly erased
   * events, and the ids of events with a delivery still waiting for a response.
   */
  run(
    by: AuditContext,
    userId: string,
    contacts: readonly string[],
  ): Promise<{ readonly events: number; readonly underWay: readonly string[] }>;
  /** Deletes responses received since. Returns the events still waiting for a response. */
  eraseResponses(by: AuditContext, eventIds: readonly string[]): Promise<readonly string[]>;
}

/** Erases personal data from stored events, which deliveries are made from, and from stored responses of receivers. */
export function createEventErasure({ db, sql }: Pick<Runtime, 'db' | 'sql'>, payloads: Payloads): EventErasure {
  const store = createErasureStore(sql);
  /** Deletes the stored responses of locked deliveries. Returns the events of those still waiting for a response. */
  const dropResponses = async (unit: Unit, deliveries: readonly Row[]): Promise<string[]> => {
    if (deliveries.length > 0) await unit.run(store.dropResponses(deliveries.map(({ id }) => String(id))));
    return deliveries.flatMap(({ state, event_id }) => (state === 'delivering' ? [String(event_id)] : []));
  };
  const eraseSome = (by: AuditContext, rows: readonly { readonly id: string; readonly data: string }[]) =>
    db.work(by, async (unit) => {
      await unit.run(
        store.replaceEvents(rows.map(({ id, data }): readonly [string, string] => [id, erasedData(JSON.parse(data))])),
      );
      return dropResponses(unit, await unit.all(store.deliveries(rows.map(({ id }) => id))));
    });
  return {
    run: async (by, userId, contacts) => {
      // In a permission, the role is part of a longer text.
      const texts = [
        ...[userId, ...contacts].map((value) => JSON.stringify(value)),
        `user:${userId}\\"`,
        `user:${userId}/`,
      ];
      const underWay: string[] = [];
      let events = 0;
      for (let after = ''; ; ) {
        const end = await db.one(store.windowEnd(after));
        const last = end && String(end.id);
        const found = await db.all(store.holding(by.projectId ?? '', { texts, creator: userId }, after, last));
        const stored = found.map(({ id, data }) => ({ id: String(id), data: String(data) }));
        const opened = await payloads.openAll(db, by.projectId ?? '', stored);
        const rows = stored.flatMap((row, at) => {
          const data = opened[at];
          const isMeant = (text: string) => !isSealed(row.data) || texts.some((one) => text.includes(one));
          return data !== undefined && isMeant(data) ? [{ ...row, data }] : [];
        });
        if (rows.length > 0) underWay.push(...(await eraseSome(by, rows)));
        events += rows.filter(({ data }) => JSON.parse(data).erased !== true).length;
        if (last === undefined) return { events, underWay };
        after = last;
      }
    },
    eraseResponses: (by, eventIds) =>
      db.work(by, async (unit) => dropResponses(unit, await unit.all(store.deliveries(eventIds)))),
  };
}
