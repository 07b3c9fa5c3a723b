import type { LoadResult } from './load-plan.js';
import type { Row } from './row.js';

/** What rows about throughput are judged by. */
export const judgedMeasure = 'requests per CPU-second';

/** The lines of a row about throughput, judged by requests per CPU-second. */
export function throughputRows(ours: readonly LoadResult[], base: readonly LoadResult[], target?: number): Row[] {
  const row = (measure: string, of: (result: LoadResult) => number): Row => ({
    measure,
    ours: ours.map(of),
    base: base.map(of),
  });
  const judged = row(judgedMeasure, perCpuSecond);
  return [
    target === undefined ? judged : { ...judged, target: { of: 'ratio', bound: 'least', value: target } },
    row('requests per second', perSecond),
    row('p50 ms', ({ groups }) => groups[0]?.p50 ?? Number.NaN),
    row('p99 ms', ({ groups }) => groups[0]?.p99 ?? Number.NaN),
  ];
}

/** Answers for a second of CPU time. */
export function perCpuSecond({ groups, cpuSeconds }: LoadResult): number {
  return (groups[0]?.answers ?? Number.NaN) / cpuSeconds;
}

/** Answers for a second of the clock. */
export function perSecond({ groups, seconds }: LoadResult): number {
  return (groups[0]?.answers ?? Number.NaN) / seconds;
}
