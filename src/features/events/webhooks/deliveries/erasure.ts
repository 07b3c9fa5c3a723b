import type { z } from 'zod';
import type { erasedPayload } from '#src/contract/events.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import type { Row } from '#src/platform/db/table.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';

/** Events that are looked through in one statement. */
const window = 5000;
/** Members of an event that are ids; they stay, as subscribers know the resource by them. */
const ids = ['$id', 'userId', 'teamId', 'bucketId'] as const satisfies readonly (keyof z.output<
  typeof erasedPayload
>)[];

/** SQL that takes persons out of events and of the responses to them. */
function createErasureStore(sql: Sql) {
  // What members of a team are shown of a membership stands with its audience.
  const said = "data || coalesce(audience, '')";
  const holds = sql.dialect === 'sqlite' ? `instr(${said}, ?) > 0` : `strpos(${said}, ?) > 0`;
  const creatorOf = sql.dialect === 'sqlite' ? `audience ->> 'creator'` : `audience::json ->> 'creator'`;
  const given = sql.dialect === 'sqlite' ? 'json_each(?) as given' : 'json_array_elements(?::json) as given';
  const ofEvents = (table: string, eventIds: readonly string[]) =>
    sql.knex(table).where(sql.isOneOf(table === 'deliveries' ? 'event_id' : 'delivery_id', sql.list(eventIds)));
  return {
    windowEnd: (after: string): Query =>
      sql.text(`select id from events where id > ? order by id limit 1 offset ${window - 1}`, [after]),
    /**
     * Events of a project between two ids whose data hold one of the texts, and those of files that a user has made. What documents hold, and
     * files of others, is not about the user.
     */
    holding: (
      projectId: string,
      { texts, creator }: { texts: readonly string[]; creator: string },
      after: string,
      end: string | undefined,
    ): Query =>
      sql.text(
        `select id, data from events where id > ?${end === undefined ? '' : ' and id <= ?'} and project_id = ?
          and type not like 'document%' and (case when type like 'file%' then ${creatorOf} = ?
            else ${texts.map(() => holds).join(' or ')} end)`,
        [after, ...(end === undefined ? [] : [end]), projectId, creator, ...texts],
      ),
    /** Without an audience only server keys read them. */
    replaceEvents: (values: readonly (readonly [string, string])[]): Query =>
      sql.text(
        `update events set data = given.value ->> 1, audience = null from ${given} where events.id = given.value ->> 0`,
        [JSON.stringify(values)],
      ),
    /** Held until the end of the unit: one that is claimed afterwards is posted as its event is then. */
    deliveries: (eventIds: readonly string[]): Query => {
      const found = ofEvents('deliveries', eventIds).select('id', 'event_id', 'state');
      return sql.compile(sql.dialect === 'sqlite' ? found : found.forUpdate());
    },
    dropResponses: (deliveryIds: readonly string[]): Query =>
      sql.compile(ofEvents('delivery_attempts', deliveryIds).update({ response: '' })),
  };
}

/** What an event carries of which somebody was erased. */
function erasedData(data: unknown): string {
  const before: Readonly<Record<string, unknown>> = typeof data === 'object' && data !== null ? { ...data } : {};
  const kept = ids.flatMap((name) => (typeof before[name] === 'string' ? [[name, before[name]] as const] : []));
  return JSON.stringify({ ...Object.fromEntries(kept), erased: true });
}

/** Takes a person out of stored events, from which deliveries are made, and out of what receivers responded. */
export function createEventErasure({ db, sql }: Pick<Runtime, 'db' | 'sql'>) {
  const store = createErasureStore(sql);
  /** Of deliveries that are held: drops what receivers responded so far, and returns the events of those whose response is still to come. */
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
    /**
     * Erases every event that names the user or one of the contacts, and those of the user's files; returns how many were not erased before,
     * and the ids of those with a delivery that was under way, whose response is still to come.
     */
    run: async (
      by: AuditContext,
      userId: string,
      contacts: readonly string[],
    ): Promise<{ readonly events: number; readonly underWay: readonly string[] }> => {
      const texts = [userId, ...contacts].map((value) => JSON.stringify(value));
      const underWay: string[] = [];
      let events = 0;
      for (let after = ''; ; ) {
        const end = await db.one(store.windowEnd(after));
        const last = end && String(end.id);
        const found = await db.all(store.holding(by.projectId ?? '', { texts, creator: userId }, after, last));
        const rows = found.map(({ id, data }) => ({ id: String(id), data: String(data) }));
        if (rows.length > 0) underWay.push(...(await eraseSome(by, rows)));
        events += rows.filter(({ data }) => JSON.parse(data).erased !== true).length;
        if (last === undefined) return { events, underWay };
        after = last;
      }
    },
    /** Erases what receivers have responded to events meanwhile; returns those whose response is still to come. */
    eraseResponses: (by: AuditContext, eventIds: readonly string[]): Promise<readonly string[]> =>
      db.work(by, async (unit) => dropResponses(unit, await unit.all(store.deliveries(eventIds)))),
  };
}

/** Takes persons out of events. */
export type EventErasure = ReturnType<typeof createEventErasure>;
