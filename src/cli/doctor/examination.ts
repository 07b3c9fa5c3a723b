import { setTimeout as sleep } from 'node:timers/promises';
import { type Appliance, createAppliance } from '#src/appliance.js';
import { ConfigError } from '#src/platform/config/config-error.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Call } from '../command.js';
import { CommandError } from '../exit.js';
import { load, requireDatabase } from '../installation.js';
import { forCommand } from '../run-command.js';
import { type Check, type Report, runChecks } from './check.js';
import { contentChecks, remoteChecks } from './content-checks.js';
import { clockChecks, databaseChecks, keyChecks, schemaChecks } from './database-checks.js';
import { type Finding, found, type Level, saidByDatabase } from './finding.js';
import { machineChecks, nodeCheck } from './machine-checks.js';
import { settingsChecks } from './settings-checks.js';

/** What is left out. */
interface Scope {
  /** Whether other servers than the database are not asked. */
  readonly offline: boolean;
}

/** How long is waited for connections to be closed. */
const closeMs = 2000;
const order: readonly Level[] = ['error', 'warning', 'info'];

/** Makes every check that can be made: what a later one rests on is checked first. The worst findings come first. */
export async function examine(call: Call, scope: Scope): Promise<Report> {
  const reports: Report[] = [await runChecks([nodeCheck], undefined)];
  const loaded = readSettings(call);
  if (isFinding(loaded)) reports.push({ checks: 1, findings: loaded });
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

function isFinding(value: LoadedConfig | Finding[]): value is Finding[] {
  return Array.isArray(value);
}

/** Throws CommandError where there is no installation, as for every command. */
function readSettings(call: Call): LoadedConfig | Finding[] {
  try {
    return load(call);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ message, fix }) =>
      found('configuration_invalid', message.endsWith('?') ? message : `${message}.`, fix),
    );
  }
}

async function examineDatabase(loaded: LoadedConfig, { output }: Call, { offline }: Scope): Promise<Report[]> {
  const appliance = await open(loaded, output);
  if (Array.isArray(appliance)) return [{ checks: 1, findings: appliance }];
  try {
    return await inOrder(appliance, [
      databaseChecks,
      schemaChecks,
      keyChecks,
      [...clockChecks, ...contentChecks, ...(offline ? [] : remoteChecks)],
    ]);
  } finally {
    // What is still under way reads only.
    await Promise.race([appliance.close(), sleep(closeMs, undefined, { ref: false })]);
  }
}

/** What it says goes to no log: the findings tell it. */
async function open({ config }: LoadedConfig, output: Call['output']): Promise<Appliance | Finding[]> {
  try {
    requireDatabase(config);
    return await createAppliance(forCommand(config, output), { writeLog: () => {} });
  } catch (error) {
    if (error instanceof CommandError) return [found('database_file_missing', error.message, error.fix)];
    if (error instanceof DatabaseError) return [saidByDatabase(error, config)];
    throw error;
  }
}

/** Stage by stage, up to the first one with a finding: those after it would only repeat it. */
async function inOrder(appliance: Appliance, stages: readonly (readonly Check<Appliance>[])[]): Promise<Report[]> {
  const reports: Report[] = [];
  for (const stage of stages) {
    const report = await runChecks(stage, appliance);
    reports.push(report);
    if (report.findings.length > 0) break;
  }
  return reports;
}
