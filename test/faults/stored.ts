// What the database knows in the end.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Server } from '../harness/cli.js';
import type { Json } from './journal.js';
import { ask, documentsPath, type Scene } from './scene.js';

/** How long the number of deliveries that wait may stay as it is: longer than a lease and the delay after a failure. */
const patienceMs = 120_000;

/** A row of the audit log. */
interface AuditRow {
  readonly requestId: string;
  readonly action: string;
  /** The last part of the path of what changed. */
  readonly subject: string;
  readonly at: string;
}

/** A committed event. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly sequence: number | null;
  readonly data: Json;
}

/** Everything of the project that the writes of clients may have left. */
export interface Stored {
  readonly documents: ReadonlyMap<string, Json>;
  readonly sessions: ReadonlySet<string>;
  readonly audit: readonly AuditRow[];
  readonly events: readonly StoredEvent[];
}

/** Reads everything; documents are read as clients read them. */
export async function readStored(scene: Scene, server: Server): Promise<Stored> {
  const { place } = scene;
  const audit = await place.sql('select request_id, action, resource, at from audit_entries');
  const events = await place.sql('select id, type, created_at, sequence, data from events order by sequence');
  const sessions = await place.sql('select id from sessions');
  return {
    documents: await readDocuments(scene, server),
    sessions: new Set(sessions.map(({ id }) => String(id))),
    audit: audit.map(({ request_id, action, resource, at }) => ({
      ...{ requestId: String(request_id), action: String(action), at: String(at) },
      subject: String(resource).split('/').at(-1) ?? '',
    })),
    events: events.map(({ id, type, created_at, sequence, data }) => ({
      ...{ id: String(id), type: String(type), at: String(created_at), data: JSON.parse(String(data)) },
      sequence: sequence === null ? null : Number(sequence),
    })),
  };
}

async function readDocuments({ key }: Scene, server: Server): Promise<Map<string, Json>> {
  const found = new Map<string, Json>();
  for (let last: string | undefined; ; ) {
    const queries = [
      { method: 'limit', values: [1000] },
      ...(last === undefined ? [] : [{ method: 'cursorAfter', values: [last] }]),
    ];
    const query = new URLSearchParams(queries.map((one): [string, string] => ['queries[]', JSON.stringify(one)]));
    const { status, body } = await ask(server, key, 'GET', `${documentsPath}?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    const page = body.documents as { $id: string }[];
    for (const document of page) found.set(document.$id, document);
    last = page.at(-1)?.$id;
    if (last === undefined) return found;
  }
}

/** Waits until nothing waits to be delivered. A delivery whose server was killed is made again when its minute is over. */
export async function untilDelivered({ place }: Scene): Promise<void> {
  const waiting = `select (select count(*) from events where dispatched_at is null)
    + (select count(*) from deliveries where due_at is not null) as count`;
  for (let least = Number.POSITIVE_INFINITY, since = performance.now(); ; ) {
    const count = Number((await place.sql(waiting))[0]?.count);
    if (count === 0) return;
    if (count < least) [least, since] = [count, performance.now()];
    assert.ok(performance.now() - since < patienceMs, `${count} events still wait to be delivered`);
    await sleep(200);
  }
}
