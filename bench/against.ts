import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningServer } from './child.js';
import type { LoadGroup, LoadResult } from './load-plan.js';
import { group, whileRunning } from './measure.js';
import type { Options } from './options.js';
import { residentMebibytes } from './process-tree.js';
import type { Row, Target } from './row.js';
import type { InterferenceScenario, Scenario } from './scenario-kinds.js';
import type { Stage } from './stage.js';
import { throughputRows } from './throughput-rows.js';

/** No row of a new build may be worse than this share of the old one. */
const leastRatio = 0.95;
/** Where less is better. */
const mostRatio = 1.05;

/** Runs one scenario on this build and on the other, or on several servers and on one, in turns. What compares within one build has no row here. */
export async function measureAgainst(scenario: Scenario, stage: Stage, other: Stage, options: Options): Promise<Row[]> {
  switch (scenario.kind) {
    case 'throughput':
    case 'comparison':
    case 'hash-bound': {
      const [ours, base] = await inTurns(stage, other, options, (one, port) => [group(scenario, one.world, port)]);
      return throughputRows(ours, base, other === stage ? undefined : leastRatio);
    }
    case 'interference':
      return measureInterference(scenario, stage, other, options);
    case 'cold-start':
      return eachTime('ms to ready', scenario.runs, stage, other, async (server) => server.startMilliseconds);
    case 'idle-memory':
      return eachTime('MiB resident', options.rounds, stage, other, async (server) => {
        await sleep(scenario.settleSeconds * 1000);
        return residentMebibytes(server.pid);
      });
    case 'ceiling':
    case 'files':
    case 'deliveries':
    case 'delivery-interference':
      return [];
  }
}

/** Loads both servers in turns; whoever begins changes from round to round. */
function inTurns(
  stage: Stage,
  other: Stage,
  { rounds, servers: count }: Options,
  groups: (stage: Stage, port: number) => readonly LoadGroup[],
): Promise<readonly [LoadResult[], LoadResult[]]> {
  const loaded = (one: Stage, servers: readonly RunningServer[]) => {
    const ports = servers.map(({ port }) => port);
    return one.round(ports, one.processesOf(...servers), groups(one, ports[0] ?? 0));
  };
  return whileRunning(stage.startSeveral(count, true), ({ servers }) =>
    whileRunning(other.startSeveral(1), async ({ servers: single }) => {
      const ours: LoadResult[] = [];
      const base: LoadResult[] = [];
      const load = [
        async () => ours.push(await loaded(stage, servers)),
        async () => base.push(await loaded(other, single)),
      ];
      for (let round = 0; round < rounds; round++) {
        for (const run of round % 2 === 0 ? load : load.toReversed()) await run();
      }
      return [ours, base] as const;
    }),
  );
}

async function measureInterference(
  { light, heavy }: InterferenceScenario,
  stage: Stage,
  other: Stage,
  options: Options,
): Promise<Row[]> {
  const [ours, base] = await inTurns(stage, other, options, (one, port) => [
    group(light, one.world, port),
    group(heavy, one.world, port),
  ]);
  const row = (percentile: 'p50' | 'p99'): Row => {
    const of = ({ groups }: LoadResult) => groups[0]?.[percentile] ?? Number.NaN;
    return { measure: `${percentile} ms beside the heavy load`, ours: ours.map(of), base: base.map(of) };
  };
  return [row('p50'), row('p99')];
}

async function eachTime(
  measure: string,
  times: number,
  stage: Stage,
  other: Stage,
  read: (server: RunningServer) => Promise<number>,
): Promise<Row[]> {
  const ours: number[] = [];
  const base: number[] = [];
  for (let time = 0; time < times; time++) {
    ours.push(await whileRunning(stage.startReal(), read));
    base.push(await whileRunning(other.startReal(), read));
  }
  const target: Target = { of: 'ratio', bound: 'most', value: mostRatio };
  return [{ measure, ours, base, target }];
}
