import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { Claim, SharedLimiter } from '#src/platform/admission/shared-limiter.js';
import { type AuditContext, byService } from '#src/platform/db/outbox.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf, isRecent } from '#src/platform/runtime/clock.js';
import { createSingleFlight } from '#src/platform/runtime/single-flight.js';
import { version } from '#src/platform/runtime/version.js';
import { createServerStore, type ServerRow, type ServerStore, servers } from './store.js';

export type { ServerRow } from './store.js';

/**
 * Milliseconds. A server reads the claims of the others (`exchange`), checks the schema (`look`) and renews its row (`renew`, or `together`
 * while others run). Without renewal it counts as ended after `ended`.
 */
const periods = { exchange: 1000, look: 2000, together: 4000, renew: 30_000, ended: 90_000 } as const;

/** Reads of an unchanged row after which its server counts as ended. Clocks of other machines are not compared. */
const unchangedReads = 10;

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
  readonly own: Omit<ServerRow, 'startedAt' | 'seenAt' | 'claims'>;
  readonly limiter: SharedLimiter;
  readonly others: OtherServers;
  readonly state: State;
}

interface State {
  timers: NodeJS.Timeout[];
  startedAt: string;
  renewAt: number;
  forbidden: readonly string[];
  /** The last announcement of this server. */
  claims: readonly Claim[];
}

/** Creates the service of the servers. */
export function createServers(runtime: ServersRuntime, limiter: SharedLimiter): Servers {
  const { db, sql, clock, random, log, config, migrator } = runtime;
  const id = random.id();
  const keyFile = config.masterKey?.file?.path ?? null;
  const deps: Deps = {
    db,
    clock,
    log,
    migrator,
    store: createServerStore(sql),
    by: byService('servers', null, id),
    own: { id, host: hostname(), pid: process.pid, version: version(), keyFile },
    limiter,
    others: new OtherServers(),
    state: { timers: [], startedAt: '', renewAt: 0, forbidden: [], claims: [] },
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
  if (!(await migrator.status()).applied.includes('0055_server_claims')) return [];
  const rows = (await db.all(createServerStore(sql).list())).map((row) => servers.decode(row));
  return rows.filter(({ seenAt }) => isRecent(seenAt, clock.now(), periods.ended));
}

async function begin(deps: Deps): Promise<void> {
  const { clock, state } = deps;
  state.startedAt = instantOf(clock.now());
  await renew(deps);
  await exchange(deps).catch(() => {});
  // If the database is unavailable, the next turn tries again.
  const every = (ms: number, run: (deps: Deps) => Promise<void>) => {
    const runOnce = createSingleFlight<void>();
    return setInterval(() => void runOnce(() => run(deps)).catch(() => {}), ms).unref();
  };
  state.timers = [every(periods.look, look), every(periods.exchange, exchange)];
}

/** A database that takes no writes has no rows of servers. */
async function renew({ db, clock, store, by, own, others, state }: Deps): Promise<void> {
  state.renewAt = clock.monotonic() + (others.some ? periods.together : periods.renew);
  const row = { ...own, startedAt: state.startedAt, seenAt: instantOf(clock.now()), claims: state.claims };
  await db.note(by, async (unit) => void (await unit.run(store.put(row))));
}

/** Shares the rate limits with the other servers. Writes only if there is something new to announce. */
async function exchange(deps: Deps): Promise<void> {
  const { db, clock, store, own, limiter, others, state } = deps;
  const rows = await db.all(store.others(own.id));
  const hadOthers = others.some;
  const claims = limiter.exchange(others.running(rows.map((row) => servers.decode(row))));
  const isNews = others.some !== hadOthers || !isDeepStrictEqual(claims, state.claims);
  state.claims = claims;
  if (isNews || clock.monotonic() >= state.renewAt) await renew(deps);
}

async function look(deps: Deps): Promise<void> {
  const { log, migrator, own, state } = deps;
  const { unusable } = await migrator.status();
  if (unusable.join() !== state.forbidden.join() && unusable.length > 0)
    log.error('schema.moved', { steps: unusable.join(','), version: own.version, next: 'install the newer version' });
  state.forbidden = unusable;
}

async function end({ db, clock, store, by, own, state }: Deps): Promise<void> {
  if (state.timers.length === 0) return;
  for (const timer of state.timers.splice(0)) clearInterval(timer);
  const goneBefore = instantOf(clock.now() - periods.ended);
  await db.note(by, async (unit) => void (await unit.run(store.remove(own.id, goneBefore)))).catch(() => {});
}

interface Known {
  readonly seenAt: string;
  reads: number;
}

/** The other servers of the database, by their rows. A server that was killed leaves its row, which changes no more. */
class OtherServers {
  #known = new Map<string, Known>();
  #some = false;

  /** True if others were running at the last read. */
  get some(): boolean {
    return this.#some;
  }

  /** The claims of each server that is running. */
  running(rows: readonly ServerRow[]): (readonly Claim[])[] {
    const before = this.#known;
    this.#known = new Map();
    const running = rows.filter(({ id, seenAt }) => {
      const known = before.get(id);
      const reads = known?.seenAt === seenAt ? known.reads + 1 : 0;
      this.#known.set(id, { seenAt, reads });
      return reads < unchangedReads;
    });
    this.#some = running.length > 0;
    return running.map(({ claims }) => claims ?? []);
  }
}
