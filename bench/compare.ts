import { readFileSync } from 'node:fs';
import type { Outcome } from './report.js';
import type { Row } from './row.js';
import { scenarios } from './scenarios.js';
import { ratios, spread } from './statistics.js';
import { judgedMeasure } from './throughput-rows.js';

/** The results of a run with another number of documents, as `--json` wrote them. */
export interface OtherRun {
  readonly rows: number;
  readonly results: readonly {
    readonly database: string;
    readonly scenario: string;
    readonly rows: readonly { readonly measure: string; readonly rounds: Pick<Row, 'ours' | 'base'> }[];
  }[];
}

/** How many times the cost of a list may be what it is with the other number of documents. */
const mostRatio = 2;

/** Reads what `--json` wrote. */
export function readSizes(file: string): OtherRun {
  const run = JSON.parse(readFileSync(file, 'utf8')) as OtherRun;
  if (!Number.isInteger(run.rows) || !Array.isArray(run.results)) throw new Error(`${file} is no report with --rows`);
  return run;
}

/**
 * Adds a row to the outcome of a list: its cost beside its cost in the other run. Seconds of two runs do not compare, so the cost is counted
 * in answers of bare Koa, each run's own.
 */
export function compareSizes(outcome: Outcome, other: OtherRun): Outcome {
  const scenario = scenarios.find(({ name }) => name === outcome.scenario);
  if (scenario?.kind !== 'throughput' || scenario.audience === undefined) return outcome;
  const before = other.results.find(
    ({ database, scenario: name }) => database === outcome.database && name === outcome.scenario,
  );
  const now = outcome.rows.find(({ measure }) => measure === judgedMeasure);
  const then = before?.rows.find(({ measure }) => measure === judgedMeasure)?.rounds;
  if (now === undefined || then === undefined) return outcome;
  const row: Row = {
    measure: `cost in answers of bare Koa, here and with ${other.rows} rows`,
    ours: ratios(now.base, now.ours),
    // Rounds of two runs do not belong together, so each is held against the middle.
    base: now.ours.map(() => spread(ratios(then.base, then.ours)).median),
    target: { of: 'ratio', bound: 'most', value: mostRatio },
  };
  return { ...outcome, rows: [...outcome.rows, row] };
}
