import type { Appliance } from '#src/appliance.js';
import { instantOf, isAhead } from '#src/platform/clock.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { refusalOfDriver } from '../database-refusal.js';
import { CommandError } from '../exit.js';
import { requireCurrentSchema, requireKnownSchema, wrongMasterKey } from '../run-command.js';
import type { Check } from './check.js';
import { type Finding, found, saidByDatabase } from './finding.js';

/** Clocks that are synchronised are never so far apart. */
const apartMs = 60_000;
/** What is said where Postgres takes no writes. */
const readOnly = new DatabaseError('notWritable', '25006');
const damaged = new DatabaseError('other', 'SQLITE_CORRUPT');

/** The checks of the database itself; with a finding among them, nothing is read from its tables. */
export const databaseChecks: readonly Check<Appliance>[] = [
  {
    name: 'the database',
    run: async ({ runtime: { config, driver, writability } }) => {
      const refusal = await refusalOfDriver(driver);
      if (refusal !== undefined) return [saidByDatabase(refusal, config)];
      if (!(await driver.isSound())) return [saidByDatabase(damaged, config)];
      return writability.isWritable() ? [] : [saidByDatabase(readOnly, config)];
    },
  },
];

/** The checks of whether this version can work with the database. */
export const schemaChecks: readonly Check<Appliance>[] = [
  {
    name: 'the schema',
    alone: 'svc migrate status',
    run: async ({ runtime: { migrator } }) => {
      const status = await migrator.status();
      return [
        ...refusalOf('schema_newer', () => requireKnownSchema(status)),
        ...(status.unknown.length > 0 ? [] : refusalOf('schema_pending', () => requireCurrentSchema(status))),
      ];
    },
  },
];

/** The checks of whether this installation is the one whose database it is. */
export const keyChecks: readonly Check<Appliance>[] = [
  {
    name: 'the master key',
    run: async ({ runtime, features }) => {
      if (!(await features.projects.hasOtherMasterKey(runtime.db))) return [];
      const { message, fix } = wrongMasterKey();
      return [found('master_key_wrong', message, fix)];
    },
  },
];

/** The checks of the clock of this machine. */
export const clockChecks: readonly Check<Appliance>[] = [
  {
    name: 'the clock against what is stored',
    run: async ({ runtime, features }) => {
      const stored = [
        ...(await features.jobs.list()).map(({ lastRun }) => lastRun),
        await features.audit.lastRecorded(),
      ].filter((one) => one !== null && one !== undefined);
      const newest = stored.toSorted().at(-1);
      const now = runtime.clock.now();
      if (newest === undefined || !isAhead(newest, now)) return [];
      const message = `The clock says ${instantOf(now)}, but something was stored at ${newest}: it is behind, or was ahead.`;
      const fix =
        'timedatectl set-ntp true; if the clock is right, docs/operations.md, "When the clock is set", tells what follows';
      return [found('clock_behind', message, fix)];
    },
  },
  {
    name: "the clock against the database's",
    run: async ({ runtime: { driver, clock } }) => {
      const before = clock.now();
      const theirs = await driver.serverTime();
      // What the answer took is no difference.
      const apart = theirs === undefined ? 0 : Math.max(before - theirs, theirs - clock.now());
      if (apart <= apartMs) return [];
      const message = `The clock of this machine and that of the database server are ${Math.round(apart / 1000)} s apart.`;
      return [found('clock_differs', message, 'timedatectl set-ntp true, on both machines')];
    },
  },
];

/** The refusal that a command would end with, as a finding. */
function refusalOf(code: 'schema_newer' | 'schema_pending', demand: () => void): Finding[] {
  try {
    demand();
    return [];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [found(code, error.message, error.fix)];
  }
}
