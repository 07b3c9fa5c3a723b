import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { measureAgainst } from './against.js';
import { compareSizes, readSizes } from './compare.js';
import { listProfiles, summarizeProfile } from './cpu-profile.js';
import { measure } from './measure.js';
import { isChosen, type Options, readOptions } from './options.js';
import { machineFacts, type Outcome, print, printMachine, printTable } from './report.js';
import { judge } from './row.js';
import type { Database } from './scenario-kinds.js';
import { scenarios } from './scenarios.js';
import { Stage } from './stage.js';

async function benchDatabase(database: Database, options: Options): Promise<Outcome[]> {
  const directory = temporaryDirectory('svc-bench-');
  // Postgres runs as another user, who cannot enter a directory that only we may read.
  const postgresDirectory = temporaryDirectory('svc-bench-postgres-');
  const outcomes: Outcome[] = [];
  try {
    const stage = await Stage.open(database, options, directory, postgresDirectory);
    let other: Stage | undefined;
    try {
      if (options.servers > 1) other = stage;
      if (options.against !== undefined) other = await openOther(database, options, options.against);
      const chosen = scenarios.filter((scenario) => isChosen(scenario, options.only));
      for (const scenario of chosen) {
        process.stderr.write(`${database}: ${scenario.name} …\n`);
        try {
          const rows =
            other === undefined
              ? await measure(scenario, stage, database, options)
              : await measureAgainst(scenario, stage, other, options);
          outcomes.push({ database, scenario: scenario.name, rows });
        } catch (error) {
          outcomes.push({ database, scenario: scenario.name, rows: [], failure: textOf(error) });
        }
      }
    } finally {
      if (other !== stage) await other?.close();
      await stage.close();
    }
  } catch (error) {
    outcomes.push({ database, scenario: 'set-up', rows: [], failure: textOf(error) });
  }
  return outcomes;
}

function openOther(database: Database, options: Options, root: string): Promise<Stage> {
  const directory = temporaryDirectory('svc-bench-against-');
  const postgresDirectory = temporaryDirectory('svc-bench-against-postgres-');
  return Stage.open(database, { ...options, profile: undefined }, directory, postgresDirectory, root);
}

const directories: string[] = [];
process.once('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function temporaryDirectory(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  directories.push(directory);
  return directory;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function main(options: Options): Promise<number> {
  const machine = machineFacts();
  printMachine(machine);
  const profile = options.profile === undefined ? undefined : resolve(options.profile);
  const before = new Set(profile === undefined ? [] : listProfiles(profile));
  const other = options.compare === undefined ? undefined : readSizes(options.compare);
  const outcomes: Outcome[] = [];
  for (const database of options.databases) {
    const measured = await benchDatabase(database, { ...options, profile });
    const found = other === undefined ? measured : measured.map((outcome) => compareSizes(outcome, other));
    printTable(database, found);
    outcomes.push(...found);
  }
  if (profile !== undefined) {
    print('\nRecording a profile slows the server down: take the numbers above from a run without it.');
    for (const name of listProfiles(profile)) {
      if (!before.has(name)) print(`\n${summarizeProfile(profile, name).join('\n')}`);
    }
  }
  if (options.json !== undefined) {
    const results = outcomes.map((outcome) => ({
      ...outcome,
      rows: outcome.rows.map((row) => ({ ...row, ...judge(row), rounds: { ours: row.ours, base: row.base } })),
    }));
    const { rounds, seconds, warmupSeconds, size } = options;
    const document = { at: new Date().toISOString(), machine, rows: size, rounds, seconds, warmupSeconds, results };
    writeFileSync(options.json, `${JSON.stringify(document, null, 2)}\n`);
  }
  const failed = outcomes.some(({ failure }) => failure !== undefined);
  const missed = outcomes.some(({ rows }) => rows.some((row) => judge(row).met === false));
  return failed || (options.assert && missed) ? 1 : 0;
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => process.exit(code));
try {
  const options = readOptions(process.argv.slice(2));
  process.exit(options === undefined ? 0 : await main(options));
} catch (error) {
  process.stderr.write(`${textOf(error)}\n`);
  process.exit(2);
}
