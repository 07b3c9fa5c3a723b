/** The middle value of several rounds together with the extremes. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Sums up the values of several rounds. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: percentile(sorted, 0.5), min: percentile(sorted, 0), max: percentile(sorted, 1) };
}

/** The value below which `share` of the sorted values lie, interpolated; NaN when there are none. */
export function percentile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share;
  const low = sorted[Math.floor(position)] ?? Number.NaN;
  const high = sorted[Math.ceil(position)] ?? Number.NaN;
  return low + (high - low) * (position - Math.floor(position));
}

/** Divides round by round, so that a slow minute of the machine cancels out. */
export function ratios(ours: readonly number[], base: readonly number[]): number[] {
  return ours.map((value, round) => value / (base[round] ?? Number.NaN));
}
