import { setTimeout as sleep } from 'node:timers/promises';
import type { Appliance } from '#src/appliance.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { examineStandby, type StandbyFinding, type StandbyProblem } from '#src/platform/db/index.js';
import { instantOf, isAhead } from '#src/platform/runtime/clock.js';
import { refusalOfDriver } from '../installation/database-refusal.js';
import { requireKnownSchema, requireUsableSchema, wrongMasterKey } from '../installation/run-command.js';
import { CommandError } from '../terminal/exit.js';
import type { Check } from './check.js';
import { type DoctorFinding, found, saidByDatabase } from './finding.js';

/** Synchronised clocks never differ by this much. */
const apartMs = 60_000;
/** The error for a read-only Postgres. */
const readOnly = new DatabaseError('notWritable', '25006');
const damaged = new DatabaseError('other', 'SQLITE_CORRUPT');

/** Checks of the database itself. If one fails, no tables are read. */
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

/** Checks of the schema version. */
export const schemaChecks: readonly Check<Appliance>[] = [
  {
    name: 'the schema',
    alone: 'svc migrate status',
    run: async ({ runtime: { migrator } }) => {
      const status = await migrator.status();
      return [
        ...refusalOf('schema_newer', () => requireKnownSchema({ unknown: status.unusable })),
        ...(status.unusable.length > 0 ? [] : refusalOf('schema_pending', () => requireUsableSchema(status))),
      ];
    },
  },
];

/** Checks that the database belongs to this installation. */
export const keyChecks: readonly Check<Appliance>[] = [
  {
    name: 'the master key',
    run: async ({ runtime, features }) => {
      const other = await features.masterKey.other(runtime.db);
      if (other === undefined) {
        if (!(await features.masterKey.isUnfinished(runtime.db))) return [];
        const message =
          'A replacement of the master key was interrupted, and the copy of the former key was not deleted.';
        return [found('rotation_unfinished', message, 'svc keys rotate-master')];
      }
      const { message, fix } = wrongMasterKey(other);
      return [found('master_key_wrong', message, fix)];
    },
  },
];

/** Longest time that a standby may need to replay earlier writes. */
const standbyWaitMs = 2000;
/** Longest time for the whole check, which a server that hangs would not end. It is less than that of other checks. */
const standbyLookMs = 4000;
const standbyFaults: Readonly<Record<StandbyProblem, string>> = {
  unreachable: 'does not respond, or refuses the login',
  'not-a-standby': 'is no standby: it accepts writes',
  'another-database': 'has another database than SVC_DATABASE_URL',
  'another-timeline':
    'follows another server than the one of SVC_DATABASE_URL, or has not completed a restartpoint since a failover',
};

/** Checks of the standby for lists. */
export const standbyChecks: readonly Check<Appliance>[] = [
  {
    name: 'the standby',
    run: async ({ runtime: { config, driver } }) => {
      const hung = sleep<StandbyFinding>(standbyLookMs, { problem: 'unreachable', code: 'timeout' }, { ref: false });
      const finding = await Promise.race([examineStandby(config, driver, standbyWaitMs), hung]);
      if (finding === undefined) return [];
      const { problem, code, bytes } = finding;
      if (problem === 'behind') {
        const late = `The standby of SVC_DATABASE_READ_URL is ${bytes} bytes behind after ${standbyWaitMs / 1000} s; lists are read from the primary.`;
        return [found('standby_late', late, 'check its network, disk and recovery_min_apply_delay')];
      }
      const message = `The server of SVC_DATABASE_READ_URL ${standbyFaults[problem]}${code === undefined ? '' : ` (${code})`}; lists are read from the primary.`;
      return [
        found('standby_unusable', message, 'correct SVC_DATABASE_READ_URL, or docs/postgres.md, "A standby for lists"'),
      ];
    },
  },
];

/** Checks of this machine's clock. */
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
        'timedatectl set-ntp true; if the clock is right, docs/troubleshooting.md, "A wrong clock", lists the effects';
      return [found('clock_behind', message, fix)];
    },
  },
  {
    name: "the clock against the database's",
    run: async ({ runtime: { driver, clock } }) => {
      const before = clock.now();
      const theirs = await driver.serverTime();
      // The duration of the query is not a clock difference.
      const apart = theirs === undefined ? 0 : Math.max(before - theirs, theirs - clock.now());
      if (apart <= apartMs) return [];
      const message = `The clock of this machine and that of the database server are ${Math.round(apart / 1000)} s apart.`;
      return [found('clock_differs', message, 'timedatectl set-ntp true, on both machines')];
    },
  },
];

/** Converts the error of a command into a finding. */
function refusalOf(code: 'schema_newer' | 'schema_pending', check: () => void): DoctorFinding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return [found(code, error.message, error.fix)];
  }
}
