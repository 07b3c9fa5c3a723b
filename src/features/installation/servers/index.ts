import { hostname } from 'node:os';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, isRecent } from '#src/platform/runtime/clock.js';
import { version } from '#src/platform/runtime/version.js';
import { createServerStore, type ServerRow, type ServerStore, servers } from './store.js';

export type { ServerRow } from './store.js';

/** How often a server checks the schema and renews its row, and the age from which it counts as ended, in milliseconds. */
const periods = { look: 2000, renew: 30_000, ended: 90_000 } as const;

/** The servers that use the database. */
interface Servers {
  /** Registers this server, and checks from now on whether it can use the schema. */
  begin(): Promise<void>;
  /** The steps of the schema that this server cannot work with. */
  forbiddenSteps(): readonly string[];
  end(): Promise<void>;
}

type ServersRuntime = Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'log' | 'config' | 'migrator'>;

interface Deps extends Pick<ServersRuntime, 'db' | 'clock' | 'log' | 'migrator'> {
  readonly store: ServerStore;
  readonly by: AuditContext;
  readonly own: Omit<ServerRow, 'startedAt' | 'seenAt'>;
  readonly state: { timer?: NodeJS.Timeout; startedAt: string; renewAt: number; forbidden: readonly string[] };
}

/** Creates the service of the servers. */
export function createServers(runtime: ServersRuntime): Servers {
  const { db, sql, clock, random, log, config, migrator } = runtime;
  const id = random.id();
  const keyFile = config.masterKey?.file?.path ?? null;
  const deps: Deps = {
    db,
    clock,
    log,
    migrator,
    store: createServerStore(sql),
    by: { projectId: null, actor: { kind: 'service', id: 'servers' }, requestId: id },
    own: { id, host: hostname(), pid: process.pid, version: version(), keyFile },
    state: { startedAt: '', renewAt: 0, forbidden: [] },
  };
  return { ...bind(deps, { begin, end }), forbiddenSteps: () => deps.state.forbidden };
}

/** Servers seen within the last 90 seconds. None if the schema is older than their table. */
export async function runningServers({
  db,
  sql,
  clock,
  migrator,
}: Pick<ServersRuntime, 'db' | 'sql' | 'clock' | 'migrator'>): Promise<ServerRow[]> {
  if (!(await migrator.status()).applied.includes('0054_servers')) return [];
  const rows = (await db.all(createServerStore(sql).list())).map((row) => servers.decode(row));
  return rows.filter(({ seenAt }) => isRecent(seenAt, clock.now(), periods.ended));
}

async function begin(deps: Deps): Promise<void> {
  const { clock, state } = deps;
  state.startedAt = instantOf(clock.now());
  await renew(deps);
  // If the database is unavailable, the next look tries again.
  state.timer = setInterval(() => void look(deps).catch(() => {}), periods.look);
  state.timer.unref();
}

/** A database that takes no writes has no rows of servers. */
async function renew({ db, clock, store, by, own, state }: Deps): Promise<void> {
  state.renewAt = clock.monotonic() + periods.renew;
  const row = { ...own, startedAt: state.startedAt, seenAt: instantOf(clock.now()) };
  await db.note(by, async (unit) => void (await unit.run(store.put(row))));
}

async function look(deps: Deps): Promise<void> {
  const { clock, log, migrator, own, state } = deps;
  const { unusable } = await migrator.status();
  if (unusable.join() !== state.forbidden.join() && unusable.length > 0)
    log.error('schema.moved', { steps: unusable.join(','), version: own.version, next: 'install the newer version' });
  state.forbidden = unusable;
  if (clock.monotonic() >= state.renewAt) await renew(deps);
}

async function end({ db, clock, store, by, own, state }: Deps): Promise<void> {
  if (state.timer === undefined) return;
  clearInterval(state.timer);
  delete state.timer;
  const goneBefore = instantOf(clock.now() - periods.ended);
  await db.note(by, async (unit) => void (await unit.run(store.remove(own.id, goneBefore)))).catch(() => {});
}
