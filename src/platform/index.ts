import { availableParallelism } from 'node:os';
import { Answers } from './answers.js';
import { type Clock, systemClock } from './clock.js';
import type { Config } from './config/schema.js';
import { conditionOf } from './db/conditions.js';
import { type OpenDatabase, openDatabase } from './db/index.js';
import { createEgress, type Egress } from './egress.js';
import { type FileStore, openFileStore } from './file-store/index.js';
import { createHashing, defaultHashParameters, type Hashing, type HashParameters } from './hashing.js';
import { createImages, type Images } from './images/index.js';
import { createJwt, type Jwt } from './jwt.js';
import { createLog, type Log, mostWaitingBytes } from './log.js';
import { createMailer, type Mailer } from './mailer.js';
import { createMetrics, type Metrics } from './metrics.js';
import { createPages, type Pages } from './pages.js';
import { createRandom, type Random } from './random.js';
import { createScheduler, type Scheduler } from './scheduler.js';
import { createSealing, type Sealing } from './sealing.js';
import { createSms, type Sms } from './sms.js';
import { createTemplates, type Templates } from './templates.js';

/** Every machine the features may use. */
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
  readonly answers: Answers;
  readonly files: FileStore;
  readonly images: Images;
  close(): Promise<void>;
}

/** What tests put in place of the real world. */
export interface Replacements {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly hashParameters?: HashParameters;
  readonly scheduler?: Scheduler;
  readonly writeLog?: (lines: string) => void;
  /** The log says nothing about the state of the database: the error of a command says it. */
  readonly silentDatabase?: boolean;
  /** Longest time an outbound call may take, in milliseconds. */
  readonly longestCallMs?: number;
}

/** Builds the machines from the configuration. Throws DatabaseError where the database cannot be reached. */
export async function createRuntime(config: Config, replacements: Replacements = {}): Promise<Runtime> {
  const clock = replacements.clock ?? systemClock;
  const random = replacements.random ?? createRandom(clock);
  const log = createLog({
    level: config.logLevel,
    format: config.logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    // Node.js looks at NO_COLOR and TERM.
    color: process.stderr.isTTY && process.stderr.hasColors(),
    now: () => clock.now(),
    write: replacements.writeLog ?? ((lines) => process.stderr.write(lines)),
    // A file or a terminal waits for each write, and has no such length.
    isBehind: () => process.stderr.writableLength > mostWaitingBytes,
  });
  const metrics = createMetrics();
  metrics.databaseUp(true);
  metrics.databaseWritable(true);
  const masterKey =
    config.masterKey === undefined ? random.bytes(32) : Buffer.from(config.masterKey.reveal(), 'base64url');
  const sealing = createSealing(masterKey, random, (project, { table, column, row }) =>
    log.error('sealing.unreadable', { project, table, column, row }),
  );
  const egress = createEgress(
    { allow: config.egressAllow, allowInsecure: config.allowInsecure, longestMs: replacements.longestCallMs },
    metrics,
  );
  const mailer = createMailer(config);
  const parameters = replacements.hashParameters ?? { ...defaultHashParameters, algorithm: config.passwordHash };
  const database = await openDatabase(config, {
    clock,
    metrics,
    onChange: (up, code) => {
      metrics.databaseUp(up);
      if (replacements.silentDatabase) return;
      if (up) log.info('database.back');
      else log.error('database.away', { code });
    },
    onWritable: (isWritable, code) => {
      metrics.databaseWritable(isWritable);
      if (replacements.silentDatabase) return;
      if (isWritable) log.info('database.writable');
      else log.error('database.not-writable', { code, next: conditionOf(code)?.next });
    },
  });
  const files = openFileStore(config, { log });
  const images = createImages(availableParallelism());
  return {
    ...database,
    config,
    clock,
    random,
    hashing: createHashing(parameters, Math.max(1, availableParallelism() - 1), clock, metrics),
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
    answers: new Answers(clock, config.answerMaxBytes),
    files,
    images,
    close: async () => {
      images.close();
      await mailer.close();
      await egress.close();
      await files.close();
      await database.driver.close();
      log.flush();
    },
  };
}
