import { availableParallelism } from 'node:os';
import { ResponseBudgets } from './admission/response-budget.js';
import { ConfigError, unwritableLogFile } from './config/config-error.js';
import { readMasterKeys } from './config/master-key-file.js';
import type { Config } from './config/schema.js';
import { createHashing, defaultHashParameters, type Hashing, type HashParameters } from './crypto/hashing.js';
import { createJwt, type Jwt } from './crypto/jwt.js';
import { createRandom, type Random } from './crypto/random.js';
import { createSealing, type Sealing } from './crypto/sealing.js';
import { conditionOf } from './db/conditions.js';
import type { Driver } from './db/driver.js';
import { type DatabaseDeps, type OpenDatabase, openDatabase } from './db/index.js';
import { type FileStore, openFileStore } from './file-store/index.js';
import { createImages, type Images } from './images/index.js';
import { createScheduler, type Scheduler } from './jobs/scheduler.js';
import { createEgress, type Egress } from './outbound/egress.js';
import { createMailer, type Mailer } from './outbound/mailer.js';
import { describeNetworkError } from './outbound/network-errors.js';
import { createSms, type Sms } from './outbound/sms.js';
import { type Clock, systemClock } from './runtime/clock.js';
import { createLog, type Log, mostWaitingBytes } from './runtime/log.js';
import { type LogFile, openLogFile } from './runtime/log-file.js';
import { memoryShare } from './runtime/memory.js';
import { createMetrics, type Metrics } from './runtime/metrics.js';
import { createNotice } from './runtime/notice.js';
import { createPages, type Pages } from './templates/pages.js';
import { createTemplates, type Templates } from './templates/templates.js';
import { openTracing, type Tracing, type TracingReports } from './tracing/index.js';

/** The platform services available to features. */
export interface Runtime extends Pick<OpenDatabase, 'db' | 'sql' | 'driver' | 'migrator' | 'writability' | 'outbox'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly hashing: Hashing;
  readonly sealing: Sealing;
  readonly egress: Egress;
  readonly jwt: Jwt;
  readonly mailer: Mailer;
  readonly sms: Sms;
  readonly templates: Templates;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly scheduler: Scheduler;
  readonly pages: Pages;
  readonly budgets: ResponseBudgets;
  readonly files: FileStore;
  readonly images: Images;
  /** Undefined unless the environment asks for traces. */
  readonly tracing: Tracing | undefined;
  close(): Promise<void>;
}

/** Test doubles for parts of the platform. */
export interface Replacements {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly hashParameters?: HashParameters;
  readonly scheduler?: Scheduler;
  readonly writeLog?: (lines: string) => void;
  /** Wraps the driver of the database. */
  readonly wrapDriver?: (driver: Driver) => Driver;
  /** Variables of OpenTelemetry. Without them nothing is traced. */
  readonly tracingEnvironment?: Readonly<Record<string, string | undefined>>;
  /** Omits the database state from the log; the error of a command reports it. */
  readonly silentDatabase?: boolean;
  /** Time limit of outbound calls, in milliseconds. */
  readonly longestCallMs?: number;
}

/** Builds the platform from the configuration. Throws DatabaseError if the database is unreachable. */
export async function createRuntime(config: Config, replacements: Replacements = {}): Promise<Runtime> {
  const clock = replacements.clock ?? systemClock;
  const random = replacements.random ?? createRandom(clock);
  const log = openLog(config, clock, replacements.writeLog);
  const metrics = createMetrics();
  metrics.databaseUp(true);
  metrics.databaseWritable(true);
  const sealing = openSealing(config.masterKey, random, log);
  const tracing = await openTracing(replacements.tracingEnvironment ?? {}, tracingReports(log));
  const guarded = createEgress(
    { allow: config.egressAllow, allowInsecure: config.allowInsecure, longestMs: replacements.longestCallMs },
    metrics,
  );
  const egress = tracing?.egress(guarded) ?? guarded;
  const plainMailer = createMailer(config);
  const mailer = tracing?.mailer(plainMailer) ?? plainMailer;
  const parameters = replacements.hashParameters ?? { ...defaultHashParameters, algorithm: config.passwordHash };
  const database = await openDatabase(config, {
    clock,
    metrics,
    wrapDriver: replacements.wrapDriver ?? tracing?.driver,
    ...databaseReports(metrics, replacements.silentDatabase ? undefined : log),
  });
  const files = openFileStore(config, { log });
  // A converter takes several hundred megabytes for a large image.
  const images = createImages(memoryShare < 1 ? 1 : availableParallelism());
  return {
    ...database,
    config,
    clock,
    random,
    hashing: createHashing(parameters, Math.max(1, availableParallelism() - 1), metrics),
    sealing,
    egress,
    jwt: createJwt(clock),
    mailer,
    sms: createSms(config, egress),
    templates: createTemplates(config),
    log,
    metrics,
    scheduler: replacements.scheduler ?? createScheduler(clock),
    pages: createPages(random),
    budgets: new ResponseBudgets(clock, config.answerMaxBytes),
    files,
    images,
    tracing,
    close: async () => {
      images.close();
      await mailer.close();
      await egress.close();
      await files.close();
      await database.driver.close();
      await tracing?.close();
      log.flush();
    },
  };
}

/** Commands that need no master key get a random one. */
function openSealing(masterKey: Config['masterKey'], random: Random, log: Log): Sealing {
  return createSealing(masterKey?.bytes ?? random.bytes(32), random, {
    report: (project, { table, column, row }) => log.error('sealing.unreadable', { project, table, column, row }),
    reread: () => (masterKey?.file === undefined ? [] : readMasterKeys(masterKey.file)),
  });
}

/** Opens the log, which is appended to `SVC_LOG_FILE` or written to stderr. Throws ConfigError if the file cannot be opened. */
function openLog({ logLevel, logFormat, logFile }: Config, clock: Clock, writeLog: Replacements['writeLog']): Log {
  const file = logFile === undefined || writeLog !== undefined ? undefined : openedLogFile(logFile);
  const isTerminal = file === undefined && process.stderr.isTTY === true;
  return createLog({
    level: logLevel,
    format: logFormat ?? (isTerminal ? 'pretty' : 'json'),
    // Node.js checks NO_COLOR and TERM.
    color: isTerminal && process.stderr.hasColors(),
    now: () => clock.now(),
    write: writeLog ?? file?.write ?? ((lines) => process.stderr.write(lines)),
    // Writes to a file or a terminal are synchronous, so nothing is buffered.
    isBehind: () => file === undefined && process.stderr.writableLength > mostWaitingBytes,
    ...(file === undefined ? {} : { reopen: file.reopen }),
  });
}

function openedLogFile(path: string): LogFile {
  try {
    return openLogFile(path);
  } catch (error) {
    throw new ConfigError([unwritableLogFile(path, error)]);
  }
}

/** Logs spans that were not sent, once while that lasts. */
function tracingReports(log: Log): TracingReports {
  const notice = createNotice();
  return {
    onRefused: (reason) => log.warn('tracing.off', { reason }),
    onFailed: (error) => {
      if (notice.isNews('failed')) log.warn('tracing.failed', { reason: describeNetworkError(error) });
    },
    onSent: notice.over,
  };
}

/** Reports changes of the database state to the metrics and, if given, to the log. */
function databaseReports(
  metrics: Metrics,
  log: Log | undefined,
): Pick<DatabaseDeps, 'onChange' | 'onWritable' | 'onUnprepared' | 'onStandby'> {
  return {
    onChange: (up, code) => {
      metrics.databaseUp(up);
      if (log === undefined) return;
      if (up) log.info('database.back');
      else log.error('database.away', { code });
    },
    onWritable: (isWritable, code) => {
      metrics.databaseWritable(isWritable);
      if (log === undefined) return;
      if (isWritable) log.info('database.writable');
      else log.error('database.not-writable', { code, next: conditionOf(code)?.next });
    },
    onUnprepared: () =>
      log?.warn('database.unprepared', {
        reason: 'a connection pooler mixes up prepared statements, so they are no longer used',
        next: 'set SVC_PG_PREPARED=auto',
      }),
    onStandby: (problem, code) => {
      if (log === undefined) return;
      if (problem === undefined) log.info('standby.used');
      else log.warn('standby.unused', { reason: problem, code, next: 'svc doctor' });
    },
  };
}
