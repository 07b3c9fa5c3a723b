import { ratios, type Spread, spread } from './statistics.js';

/** A limit on the middle value of the ratios, or of our own values where nothing is compared. */
export interface Target {
  readonly of: 'ratio' | 'ours';
  readonly bound: 'least' | 'most';
  readonly value: number;
}

/** One line of the report: what was measured on the product and on what it is held against, round by round. */
export interface Row {
  readonly measure: string;
  readonly ours: readonly number[];
  readonly base: readonly number[];
  readonly target?: Target;
}

/** The middle and extremes of a row and whether it meets its target; undefined without one. */
export function judge(row: Row): { ours: Spread; base: Spread; ratio: Spread; met: boolean | undefined } {
  const ours = spread(row.ours);
  const ratio = spread(ratios(row.ours, row.base));
  const base = spread(row.base);
  if (row.target === undefined) return { ours, base, ratio, met: undefined };
  const value = row.target.of === 'ratio' ? ratio.median : ours.median;
  const met = row.target.bound === 'least' ? value >= row.target.value : value <= row.target.value;
  return { ours, base, ratio, met };
}
