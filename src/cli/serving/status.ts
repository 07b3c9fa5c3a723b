import { existsSync, statfsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '#src/platform/config/schema.js';
import { openReader, parseDatabaseUrl } from '#src/platform/db/index.js';
import { databaseBytes } from '#src/platform/db/sizes.js';
import { isAbsent } from '#src/platform/runtime/files.js';
import { memoryOfSystem } from '#src/platform/runtime/memory.js';
import { version } from '#src/platform/runtime/version.js';
import { localUrl } from './local-url.js';
import { ratesBetween, ratesSinceStart, type ServerRates, type ServerSample, sampleServer } from './server-metrics.js';

/** Time between the two samples of a single status. */
const sampleMs = 1000;

/** Status values from the database. A value that cannot be read is null. */
interface DatabaseStatus {
  readonly schema: string | null;
  readonly bytes: number | null;
  readonly sessions: number | null;
  readonly deliveries: number | null;
  readonly mails: number | null;
  readonly lastBackup: string | null;
}

/** The status of an installation. Scripts depend on the keys. */
export interface Status extends ServerRates {
  readonly running: boolean;
  readonly url: string;
  readonly version: string;
  readonly schema: string | null;
  readonly database: { readonly kind: 'sqlite' | 'postgres'; readonly bytes: number | null };
  readonly uptimeSeconds: number | null;
  readonly sessions: number | null;
  readonly sockets: number | null;
  readonly backlog: { readonly deliveries: number | null; readonly mails: number | null };
  readonly disk: { readonly freeBytes: number | null; readonly totalBytes: number | null };
  readonly memory: { readonly rssBytes: number | null; readonly limitBytes: number };
  readonly lastBackup: string | null;
  readonly findings: number | null;
}

/** Values of a running server, and its rates. */
interface Observation {
  readonly sample: ServerSample;
  readonly rates: ServerRates;
}

/**
 * Observes the server for a second; undefined if none answers. If no request was answered in that second, percentile and errors are those
 * since its start.
 */
export async function observeServer(config: Config): Promise<Observation | undefined> {
  const before = await sampleServer(config);
  if (before === undefined) return undefined;
  await sleep(sampleMs);
  const sample = await sampleServer(config);
  if (sample === undefined) return undefined;
  const rates = ratesBetween(before, sample);
  return { sample, rates: rates.errorRate === null ? { ...rates, ...ratesSinceStart(sample) } : rates };
}

/** Puts the status together. */
export function assembleStatus(
  config: Config,
  observed: Observation | undefined,
  database: DatabaseStatus,
  findings: number | null,
): Status {
  const { sample, rates } = observed ?? {};
  return {
    running: sample !== undefined,
    url: localUrl(config, config.port),
    version: version(),
    schema: database.schema,
    database: { kind: parseDatabaseUrl(config.databaseUrl.reveal()).dialect, bytes: database.bytes },
    uptimeSeconds:
      sample?.startedAt === undefined ? null : Math.max(0, Math.round(Date.now() / 1000 - sample.startedAt)),
    requestsPerSecond: rates?.requestsPerSecond ?? null,
    p95Ms: rates?.p95Ms ?? null,
    errorRate: rates?.errorRate ?? null,
    sessions: database.sessions,
    sockets: sample?.sockets ?? null,
    backlog: {
      deliveries: sample?.deliveries ?? database.deliveries,
      mails: sample?.mails ?? database.mails,
    },
    disk: diskOf(config),
    memory: { rssBytes: sample?.rssBytes ?? null, limitBytes: sample?.memoryLimitBytes ?? memoryOfSystem() },
    lastBackup: database.lastBackup,
    findings,
  };
}

/** Reads the status values of the database. Each is null if it cannot be read, for example with an older schema. */
export async function readDatabaseStatus(config: Config): Promise<DatabaseStatus> {
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const isThere = file === null || !isAbsent(file);
  const reader = isThere ? await openReader(config).catch(() => undefined) : undefined;
  const first = async (text: string, values: readonly string[] = []) => {
    const rows = await reader?.read(reader.sql.text(text, [...values])).catch(() => []);
    return Object.values(rows?.[0] ?? {})[0] ?? null;
  };
  const number = async (text: string, values?: readonly string[]) => {
    const value = await first(text, values);
    return value === null ? null : Number(value);
  };
  try {
    const schema = await first('select max(name) as name from schema_migrations');
    const lastBackup = await first('select max(created_at) as at from backups where is_own = 1');
    const now = new Date().toISOString();
    return {
      schema: typeof schema === 'string' ? schema : null,
      bytes: file === null ? await number(databaseBytes.postgres.sql) : reader === undefined ? null : fileBytes(file),
      sessions: await number('select count(*) as n from sessions where ended_at is null and expire > ?', [now]),
      deliveries: await number('select count(*) as n from deliveries where due_at is not null'),
      mails: await number("select count(*) as n from messages where due_at is not null and channel = 'email'"),
      lastBackup: typeof lastBackup === 'string' ? lastBackup : null,
    };
  } finally {
    await reader?.close();
  }
}

/** The file with its log. */
function fileBytes(file: string): number {
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

function diskOf({ dataDir }: Config): Status['disk'] {
  const directory = resolve(dataDir);
  if (!existsSync(directory)) return { freeBytes: null, totalBytes: null };
  const { bavail, blocks, bsize } = statfsSync(directory);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
