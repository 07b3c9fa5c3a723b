import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { article, documentsPath } from './articles.js';
import { ask, freePort, type RunningServer, stopChild } from './child.js';
import { createDocument, getDocument } from './document-load.js';
import type { LoadGroup, LoadResult } from './load-plan.js';
import { expectStatus, forEachNumber, type Maker, make } from './maker.js';
import { group, whileRunning } from './measure.js';
import type { Options } from './options.js';
import { cpuSeconds } from './process-tree.js';
import type { Received } from './receiver.js';
import type { Row } from './row.js';
import type { Database, DeliveryInterferenceScenario, DeliveryScenario } from './scenario-kinds.js';
import type { SendPlan, SendResult } from './sender.js';
import type { Stage } from './stage.js';

const deliveredWithinMs = 60_000;

/** Webhooks of one receiver that are told of new documents. */
interface Hooks {
  /** Switches all of them. */
  enable(enabled: boolean): Promise<void>;
  remove(): Promise<void>;
}

/** Deliveries with their attempts and all else that they leave, held against a client that does nothing but post the same body. */
export async function measureDeliveries(
  { webhooks, documents, target }: DeliveryScenario,
  stage: Stage,
  database: Database,
  { rounds }: Options,
): Promise<Row[]> {
  const count = webhooks * documents;
  const port = await freePort();
  const receiver = stage.startReceiver(port);
  const sender = stage.startSender();
  try {
    return await whileRunning(stage.startReal(true), async (real) => {
      const maker = { port: real.port, project: stage.world.project, key: stage.world.key };
      const hooks = await createHooks(maker, port, webhooks);
      const arrived = createArrivals(receiver);
      const bodies = await forEachNumber(documents, (number) =>
        make(maker, documentsPath(stage.world.articles.growing), { documentId: 'unique()', data: article(number) }),
      );
      await arrived.wait(count);
      await stage.deliveriesAtRest();
      const envelope = { id: 'a'.repeat(20), type: 'documentCreated', timestamp: new Date().toISOString() };
      const body = JSON.stringify({ ...envelope, sequence: 1000, projectId: 'bench', data: bodies[0] });
      const plan: SendPlan = { url: `http://127.0.0.1:${port}/`, body, count, atOnce: webhooks * 4 };
      const ours: { perCpuSecond: number; perSecond: number }[] = [];
      const base: SendResult[] = [];
      for (let round = 0; round < rounds; round++) {
        const watched = stage.processesOf(real);
        await stage.deliverAgain();
        // After it: on Postgres the watched processes carry out this statement too, which is not the server's.
        const [cpuBefore, startedAt] = [cpuSeconds(watched), performance.now()];
        await arrived.wait(count);
        await stage.deliveriesAtRest();
        const seconds = (performance.now() - startedAt) / 1000;
        ours.push({ perCpuSecond: count / (cpuSeconds(watched) - cpuBefore), perSecond: count / seconds });
        base.push(await ask<SendResult>(sender, plan, 60));
        await arrived.wait(count);
      }
      await hooks.remove();
      return [
        {
          measure: 'deliveries per CPU-second',
          ours: ours.map(({ perCpuSecond }) => perCpuSecond),
          base: base.map((result) => result.sent / result.cpuSeconds),
          target: { of: 'ratio', bound: 'least', value: target[database] },
        },
        {
          measure: 'deliveries per second',
          ours: ours.map(({ perSecond }) => perSecond),
          base: base.map((result) => result.sent / result.seconds),
        },
      ];
    });
  } finally {
    await stopChild(sender);
    await stopChild(receiver);
  }
}

/** Reads beside new documents, without webhooks and with some that are told of each; and how late these are told. */
export async function measureDeliveryInterference(
  { webhooks, eventsPerSecond, connections, target }: DeliveryInterferenceScenario,
  stage: Stage,
  { rounds }: Options,
): Promise<Row[]> {
  const port = await freePort();
  const receiver = stage.startReceiver(port);
  try {
    return await whileRunning(stage.startReal(true), async (real) => {
      const maker = { port: real.port, project: stage.world.project, key: stage.world.key };
      const reads = group({ connections, requests: getDocument, status: 200 }, stage.world, real.port);
      const writes: LoadGroup = {
        ...group({ connections: 10, requests: createDocument, status: 201 }, stage.world, real.port),
        perSecond: eventsPerSecond,
      };
      const hooks = await createHooks(maker, port, webhooks);
      const load = (real: RunningServer, groups: readonly LoadGroup[]) =>
        stage.round(real.port, stage.processesOf(real), groups);
      const lagOf = async (groups: readonly LoadGroup[]) => {
        await hooks.enable(true);
        await ask<Received>(receiver, {}, 10);
        const result = await load(real, groups);
        await stage.deliveriesAtRest();
        return { result, received: await ask<Received>(receiver, {}, 10) };
      };
      const without: LoadResult[] = [];
      const beside: Awaited<ReturnType<typeof lagOf>>[] = [];
      const alone: Awaited<ReturnType<typeof lagOf>>[] = [];
      for (let round = 0; round < rounds; round++) {
        await hooks.enable(false);
        without.push(await load(real, [reads, writes]));
        beside.push(await lagOf([reads, writes]));
        alone.push(await lagOf([writes]));
      }
      await hooks.remove();
      const perSecond = ({ groups, seconds }: LoadResult, at: number) => (groups[at]?.answers ?? Number.NaN) / seconds;
      return [
        {
          measure: 'reads per second, with and without webhooks',
          ours: beside.map(({ result }) => perSecond(result, 0)),
          base: without.map((result) => perSecond(result, 0)),
          target: { of: 'ratio', bound: 'least', value: target.reads },
        },
        {
          measure: 'p95 ms until delivered, beside reads and alone',
          ours: beside.map(({ received }) => received.p95),
          base: alone.map(({ received }) => received.p95),
          target: { of: 'ours', bound: 'most', value: target.p95 },
        },
        {
          measure: 'events per second, with and without webhooks',
          ours: beside.map(({ result }) => perSecond(result, 1)),
          base: without.map((result) => perSecond(result, 1)),
        },
      ];
    });
  } finally {
    await stopChild(receiver);
  }
}

async function createHooks(maker: Maker, port: number, count: number): Promise<Hooks> {
  const ids = await forEachNumber(count, async (number) => {
    const body = { name: `Bench ${number}`, url: `http://127.0.0.1:${port}/${number}`, events: ['documentCreated'] };
    return String((await make(maker, '/v1/webhooks', { ...body, webhookId: `bench${number}` })).$id);
  });
  const headers = { 'X-Service-Project': maker.project, 'X-Service-Key': maker.key };
  const change = (enabled: boolean) => async (number: number) =>
    expectStatus({ method: 'PUT', path: `/v1/webhooks/${ids[number]}`, headers, body: { enabled } }, maker.port, 200);
  return {
    enable: async (enabled) => void (await forEachNumber(count, change(enabled))),
    remove: async () => {
      for (const id of ids)
        await fetch(`http://127.0.0.1:${maker.port}/v1/webhooks/${id}`, { method: 'DELETE', headers });
    },
  };
}

/** Counts what arrives. */
function createArrivals(receiver: ChildProcess) {
  return {
    /** Waits until so many requests have arrived since the last time. */
    wait: async (count: number): Promise<void> => {
      const until = performance.now() + deliveredWithinMs;
      for (let seen = 0; ; await sleep(20)) {
        seen += (await ask<Received>(receiver, {}, 10)).count;
        if (seen === count) return;
        if (seen > count || performance.now() > until) throw new Error(`${seen} of ${count} requests have arrived`);
      }
    },
  };
}
