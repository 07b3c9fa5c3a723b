import { setTimeout as sleep } from 'node:timers/promises';
import { type Appliance, createAppliance } from '#src/appliance.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { load, requireDatabase } from '../installation/installation.js';
import { forCommand } from '../installation/run-command.js';
import type { CommandCall } from '../line/command.js';
import { CommandError, explain } from '../terminal/exit.js';
import { type Check, type Report, runChecks } from './check.js';
import { contentChecks, remoteChecks } from './content-checks.js';
import { clockChecks, databaseChecks, keyChecks, schemaChecks, standbyChecks } from './database-checks.js';
import { type DoctorFinding, found, type Level, saidByDatabase } from './finding.js';
import { machineChecks, memoryCheck, nodeCheck } from './machine-checks.js';
import { settingsChecks } from './settings-checks.js';

/** Options of an examination. */
interface Scope {
  /** True to skip checks of servers other than the database. */
  readonly offline: boolean;
}

/** Time limit for closing connections. */
const closeMs = 2000;
const order: readonly Level[] = ['error', 'warning', 'info'];

/** Runs all checks that can run, prerequisites first. Sorts findings by severity. */
export async function examine(call: CommandCall, scope: Scope): Promise<Report> {
  const reports: Report[] = [await runChecks([nodeCheck, memoryCheck], undefined)];
  const loaded = readSettings(call);
  if (Array.isArray(loaded)) reports.push({ checks: 1, findings: loaded });
  else {
    reports.push({ checks: 1, findings: [] }, await runChecks([...settingsChecks, ...machineChecks], loaded));
    reports.push(...(await examineDatabase(loaded, call, scope)));
  }
  const findings = reports.flatMap((report) => report.findings);
  return {
    checks: reports.reduce((sum, { checks }) => sum + checks, 0),
    findings: order.flatMap((level) => findings.filter((finding) => finding.level === level)),
  };
}

/** Throws CommandError if there is no installation, like every command. */
function readSettings(call: CommandCall): LoadedConfig | DoctorFinding[] {
  try {
    return load(call);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ message, fix }) =>
      found('configuration_invalid', message.endsWith('?') ? message : `${message}.`, fix),
    );
  }
}

async function examineDatabase(loaded: LoadedConfig, { output }: CommandCall, { offline }: Scope): Promise<Report[]> {
  const appliance = await open(loaded, output);
  if (Array.isArray(appliance)) return [{ checks: 1, findings: appliance }];
  try {
    return await inOrder(appliance, [
      databaseChecks,
      schemaChecks,
      keyChecks,
      [...standbyChecks, ...clockChecks, ...contentChecks, ...(offline ? [] : remoteChecks)],
    ]);
  } finally {
    // Operations still running only read.
    await Promise.race([appliance.close(), sleep(closeMs, undefined, { ref: false })]);
  }
}

/** Without a log, because the findings report the errors. */
async function open({ config }: LoadedConfig, output: CommandCall['output']): Promise<Appliance | DoctorFinding[]> {
  try {
    requireDatabase(config);
    return await createAppliance(forCommand(config, output), { writeLog: () => {} });
  } catch (error) {
    if (error instanceof CommandError) return [found('database_file_missing', error.message, error.fix)];
    if (error instanceof DatabaseError) return [saidByDatabase(error, config)];
    const { type, message, fix } = explain(error);
    if (type === 'file_not_permitted') return [found('data_directory_unusable', message, fix)];
    throw error;
  }
}

/** Runs the stages until one has findings, because later stages would only repeat them. */
async function inOrder(appliance: Appliance, stages: readonly (readonly Check<Appliance>[])[]): Promise<Report[]> {
  const reports: Report[] = [];
  for (const stage of stages) {
    const report = await runChecks(stage, appliance);
    reports.push(report);
    if (report.findings.length > 0) break;
  }
  return reports;
}
