import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { judge, type Row, type Target } from './row.js';
import type { Database } from './scenario-kinds.js';
import type { Spread } from './statistics.js';

/** What one scenario gave on one database: its lines, or why it could not be measured. */
export interface Outcome {
  readonly database: Database;
  readonly scenario: string;
  readonly rows: readonly Row[];
  readonly failure?: string;
}

/** The machine as it was when the run began. */
export function machineFacts() {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGibibytes: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    loadAverage: loadavg().map((value) => Math.round(value * 100) / 100),
  };
}

/** The head of the report. */
export function printMachine(facts: ReturnType<typeof machineFacts>): void {
  const { cores, cpu, memoryGibibytes, kernel, node, loadAverage } = facts;
  print(
    `${cores} cores (${cpu}), ${memoryGibibytes} GiB, Linux ${kernel}, Node ${node}, load ${loadAverage.join(' ')}`,
  );
  if ((loadAverage[0] ?? 0) > cores / 2) print('The machine is or just was busy: expect wide spreads.');
  print('Absolute numbers belong to this machine and this minute; the ratios within one run are what counts.');
}

/** The lines of one database as a table. */
export function printTable(database: Database, outcomes: readonly Outcome[]): void {
  const header = ['scenario', 'measure', 'ours (min–max)', 'compared with', 'ratio (min–max)', 'target', ''];
  const lines = outcomes.flatMap(toLines);
  const widths = header.map((title, column) =>
    Math.max(...[header, ...lines].map((line) => line[column]?.length ?? 0), title.length),
  );
  const draw = (line: readonly string[]): void =>
    print(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  print(`\n${database}`);
  draw(header);
  draw(widths.map((width) => '-'.repeat(width)));
  lines.forEach(draw);
  for (const { scenario, failure } of outcomes) if (failure !== undefined) print(`\n${scenario} failed: ${failure}`);
}

/** Prints one line on stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function toLines({ scenario, rows, failure }: Outcome): string[][] {
  if (failure !== undefined) return [[scenario, 'could not be measured', '', '', '', '', 'FAILED']];
  return rows.map((row, index) => {
    const { ours, base, ratio, met } = judge(row);
    const verdict = met === undefined ? '' : met ? 'pass' : 'MISS';
    const cells = [row.measure, showSpread(ours), showSpread(base), showSpread(ratio), showTarget(row.target), verdict];
    return [index === 0 ? scenario : '', ...cells];
  });
}

function showTarget(target: Target | undefined): string {
  if (target === undefined) return '';
  const unit = target.of === 'ours' ? ' (ours)' : '';
  return `${target.bound === 'least' ? '≥' : '≤'} ${target.value}${unit}`;
}

function showSpread({ median, min, max }: Spread): string {
  return `${show(median)} (${show(min)}–${show(max)})`;
}

function show(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 || value === 0 ? 2 : 4;
  return value.toFixed(digits);
}
