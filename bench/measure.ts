import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type RunningServer, stopChild } from './child.js';
import { measureDeliveries, measureDeliveryInterference } from './deliveries.js';
import { measureFiles } from './files.js';
import type { HashPlan, HashResult } from './hash-rate.js';
import type { LoadGroup, LoadResult } from './load-plan.js';
import { type Options, usualSize } from './options.js';
import { residentMebibytes } from './process-tree.js';
import { record } from './recording.js';
import { toWire } from './request.js';
import type { Row } from './row.js';
import type {
  CeilingScenario,
  ColdStartScenario,
  ComparisonScenario,
  Database,
  HashBoundScenario,
  IdleMemoryScenario,
  InterferenceScenario,
  Load,
  Scenario,
  ThroughputScenario,
} from './scenario-kinds.js';
import type { Stage } from './stage.js';
import { perCpuSecond, perSecond, throughputRows } from './throughput-rows.js';
import type { World } from './world.js';

/** Runs one scenario and returns its lines of the report. */
export function measure(scenario: Scenario, stage: Stage, database: Database, options: Options): Promise<Row[]> {
  switch (scenario.kind) {
    case 'throughput':
      return measureThroughput(scenario, stage, stage.startReal(true), options, targetOf(scenario, database, options));
    case 'ceiling':
      return measureThroughput(scenario, stage, stage.startLeastCreate(), options);
    case 'comparison':
      return measureComparison(scenario, stage, options);
    case 'hash-bound':
      return measureHashBound(scenario, stage, scenario.target[database], options);
    case 'interference':
      return measureInterference(scenario, stage, options);
    case 'deliveries':
      return measureDeliveries(scenario, stage, database, options);
    case 'delivery-interference':
      return measureDeliveryInterference(scenario, stage, options);
    case 'files':
      return measureFiles(scenario, stage, options);
    case 'cold-start':
      return measureColdStart(scenario, stage);
    case 'idle-memory':
      return measureIdleMemory(scenario, stage, options);
  }
}

/** The target of a list is that of the usual size. */
function targetOf({ audience, target }: ThroughputScenario, database: Database, { size }: Options): number | undefined {
  return audience === undefined || size === usualSize ? target?.[database] : undefined;
}

async function measureThroughput(
  scenario: ThroughputScenario | CeilingScenario,
  stage: Stage,
  starting: Promise<RunningServer>,
  options: Options,
  target?: number,
): Promise<Row[]> {
  return whileRunning(starting, async (real) => {
    const answers = await record(scenario.requests(stage.world), real.port, scenario.status);
    return whileRunning(stage.startBare(answers), async (bare) => {
      const ours: LoadResult[] = [];
      const base: LoadResult[] = [];
      for (let round = 0; round < options.rounds; round++) {
        ours.push(await stage.round(real.port, stage.processesOf(real), [group(scenario, stage.world, real.port)]));
        base.push(await stage.round(bare.port, [bare.pid], [group(scenario, stage.world, bare.port)]));
      }
      return throughputRows(ours, base, target);
    });
  });
}

async function measureComparison(scenario: ComparisonScenario, stage: Stage, options: Options): Promise<Row[]> {
  return whileRunning(stage.startReal(true), async (real) => {
    const ours: LoadResult[] = [];
    const base: LoadResult[] = [];
    const { connections, status, base: requests } = scenario;
    const other = { connections, status, requests };
    for (let round = 0; round < options.rounds; round++) {
      ours.push(await stage.round(real.port, stage.processesOf(real), [group(scenario, stage.world, real.port)]));
      base.push(await stage.round(real.port, stage.processesOf(real), [group(other, stage.world, real.port)]));
    }
    return throughputRows(ours, base, scenario.target);
  });
}

async function measureHashBound(
  scenario: HashBoundScenario,
  stage: Stage,
  target: number,
  options: Options,
): Promise<Row[]> {
  const { rounds, seconds, warmupSeconds } = options;
  const hashing = stage.startHashing();
  try {
    return await whileRunning(stage.startReal(true), async (real) => {
      const ours: LoadResult[] = [];
      const base: HashResult[] = [];
      const plan: HashPlan = { seconds, warmupSeconds };
      for (let round = 0; round < rounds; round++) {
        ours.push(await stage.round(real.port, stage.processesOf(real), [group(scenario, stage.world, real.port)]));
        base.push(await ask<HashResult>(hashing, plan, warmupSeconds + seconds + 30));
      }
      return [
        {
          measure: 'logins, hashes per CPU-second',
          ours: ours.map(perCpuSecond),
          base: base.map(({ hashes, cpuSeconds }) => hashes / cpuSeconds),
          target: { of: 'ratio', bound: 'least', value: target },
        },
        {
          measure: 'logins, hashes per second',
          ours: ours.map(perSecond),
          base: base.map((result) => result.hashes / result.seconds),
        },
      ];
    });
  } finally {
    await stopChild(hashing);
  }
}

async function measureInterference(scenario: InterferenceScenario, stage: Stage, options: Options): Promise<Row[]> {
  return whileRunning(stage.startReal(true), async (real) => {
    const light = group(scenario.light, stage.world, real.port);
    const heavy = group(scenario.heavy, stage.world, real.port);
    const together: LoadResult[] = [];
    const alone: LoadResult[] = [];
    for (let round = 0; round < options.rounds; round++) {
      alone.push(await stage.round(real.port, stage.processesOf(real), [light]));
      together.push(await stage.round(real.port, stage.processesOf(real), [light, heavy]));
    }
    const row = (percentile: 'p50' | 'p99'): Row => ({
      measure: `${percentile} ms, beside and alone`,
      ours: together.map(({ groups }) => groups[0]?.[percentile] ?? Number.NaN),
      base: alone.map(({ groups }) => groups[0]?.[percentile] ?? Number.NaN),
      target: { of: 'ratio', bound: 'most', value: scenario.target[percentile] },
    });
    return [row('p50'), row('p99')];
  });
}

async function measureColdStart(scenario: ColdStartScenario, stage: Stage): Promise<Row[]> {
  const ours: number[] = [];
  const base: number[] = [];
  for (let run = 0; run < scenario.runs; run++) {
    ours.push(await whileRunning(stage.startReal(), async (real) => real.startMilliseconds));
    base.push(await whileRunning(stage.startBare([]), async (bare) => bare.startMilliseconds));
  }
  return [{ measure: 'ms to ready', ours, base, target: { of: 'ratio', bound: 'most', value: scenario.target } }];
}

async function measureIdleMemory(scenario: IdleMemoryScenario, stage: Stage, options: Options): Promise<Row[]> {
  const settled = async (server: RunningServer): Promise<number> => {
    await sleep(scenario.settleSeconds * 1000);
    return residentMebibytes(server.pid);
  };
  const ours: number[] = [];
  const base: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    ours.push(await whileRunning(stage.startReal(), settled));
    base.push(await whileRunning(stage.startBare([]), settled));
  }
  return [
    { measure: 'MiB resident', ours, base, target: { of: 'ours', bound: 'most', value: scenario.targetMebibytes } },
  ];
}

/** Stops the server when the work is done, also where it fails. */
export async function whileRunning<Running extends Pick<RunningServer, 'stop'>, Result>(
  starting: Promise<Running>,
  work: (server: Running) => Promise<Result>,
): Promise<Result> {
  const server = await starting;
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** The load of one scenario on a server. */
export function group(load: Load, world: World, port: number): LoadGroup {
  const { connections, status, sequence, bytesPerSecond } = load;
  const requests = load.requests(world).map((request) => toWire(request, port));
  return { connections, requests, status, sequence, bytesPerSecond };
}
