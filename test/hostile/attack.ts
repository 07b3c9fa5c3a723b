// The attack: requests built from the served document, right and spoiled, many at once, for as long as it is told to.
import { setTimeout as sleep } from 'node:timers/promises';
import { getIntrospectionQuery, type IntrospectionQuery } from 'graphql';
import { createRandom } from '../documents/random.js';
import { createJudge } from '../harness/answers.js';
import { type Caller, createCallers } from './callers.js';
import { type DescribedOperation, type Document, operationsOf } from './described.js';
import { withForm } from './forms.js';
import { createFurniture } from './furniture.js';
import { graphqlBody } from './graphql-documents.js';
import type { Ground } from './ground.js';
import { type Plan, planFor, type Spoil, type Workshop } from './plan.js';
import { createPool } from './pool.js';
import { leastOf, printRequest, spoiled } from './reproduction.js';
import { spoilsFor } from './spoils.js';
import { createFindings, problemOf, signatureOf } from './verdict.js';
import { createWire, outgoing, type Received } from './wire.js';

const connections = 12;
/** What is known of a kind when no more of it is made, but for a few. */
const enough = 40;

/** Prepares an attack; the seed says what it will try. */
export async function prepareAttack(ground: Ground, seed: number) {
  const random = createRandom(seed);
  const wire = createWire(ground.port, connections + 4);
  const project = { 'X-Service-Project': ground.projectId };
  const document: Document = JSON.parse((await ask('GET', '/v1/openapi.json')).text);
  const { data } = JSON.parse((await ask('POST', '/v1/graphql', { query: getIntrospectionQuery() })).text);
  const { __schema: schema } = data as IntrospectionQuery;
  const operations = operationsOf(document);
  const judge = createJudge(document as unknown as Parameters<typeof createJudge>[0]);
  const pool = createPool(operations);
  const callers = await createCallers(wire, ground.keys, pool);
  const furniture = createFurniture(wire, callers, pool);
  const workshop: Workshop = { document, operations, pool, random, receiver: ground.receiver };
  const graphql = operations.filter(({ template }) => template.startsWith('/graphql'));
  const findings = createFindings();
  const statuses = new Map<string, number>();
  const slowest = new Map<string, number>();
  const succeeded = new Set<string>();

  function ask(method: string, target: string, body?: object): Promise<Received> {
    const headers = [...Object.entries(project), ['Content-Type', 'application/json'] as const];
    return wire.send({ method, target, headers, body: body && Buffer.from(JSON.stringify(body)), chunked: false });
  }
  const choose = (): DescribedOperation => {
    if (random.chance(0.2)) return random.pick(graphql);
    const operation = random.pick(operations);
    const makesMore = operation.method === 'POST' && pool.size(operation.template) > enough;
    // What deletes much is tried less often, so that the rest finds something to be about.
    const isSweeping =
      operation.method === 'DELETE' && /database|collection|sessions$|account$/i.test(operation.template);
    return (makesMore && random.chance(0.9)) || (isSweeping && random.chance(0.7)) ? choose() : operation;
  };
  const plan = (): Plan => {
    const made = planFor(workshop, choose());
    if (made.operation.takesFile) return withForm(made, random);
    const isGraphql = made.operation.template.startsWith('/graphql') && made.operation.method === 'POST';
    return isGraphql ? { ...made, body: { value: graphqlBody({ schema, random, pool }) } } : made;
  };
  /** Sends a request and says what is wrong with the answer. */
  const tryOnce = async (given: Plan, caller: Caller) => {
    const sent = outgoing(given, given.operation.needsProject ? caller.headers : {});
    try {
      const received = await wire.send(sent);
      const path = sent.target.split('?')[0] ?? '';
      return { received, problem: problemOf(judge, { method: sent.method, path }, received, ground.secrets) };
    } catch (error) {
      // Who sends more than is taken may be cut off before it has read the answer.
      // What Node's parser refuses before it has become a request is refused with a body, also where HEAD was meant.
      const headBytes = [sent.target, ...sent.headers.flat()].join().length;
      const isCutOff = (sent.body?.length ?? 0) > 60_000 || (sent.method === 'HEAD' && headBytes > 12_000);
      return { received: undefined, problem: isCutOff ? undefined : `no answer: ${String(error)}` };
    }
  };
  const report = async (given: Plan, spoils: readonly Spoil[], caller: Caller, problem: string): Promise<void> => {
    const signature = signatureOf(given.operation.id, problem);
    const isNew = findings.isNew(signature);
    findings.add(signature, problem);
    if (!isNew) return;
    const shows = async (candidate: Plan) => {
      const again = await tryOnce(candidate, caller);
      return again.problem !== undefined && signatureOf(given.operation.id, again.problem) === signature;
    };
    const least = await leastOf(given, spoils, shows);
    const sent = outgoing(least, given.operation.needsProject ? caller.headers : {});
    findings.explain(
      signature,
      `${spoils.map(({ name }) => name).join(', ') || 'unspoiled'} as ${caller.credential}\n${printRequest(sent)}`,
    );
  };
  const step = async (): Promise<void> => {
    const base = plan();
    const spoils = random.chance(0.4) ? [] : spoilsFor(workshop, base);
    const caller = callers.choose(base.credential, random);
    const { received, problem } = await tryOnce(spoiled(base, spoils), caller);
    if (problem !== undefined) await report(base, spoils, caller, problem);
    if (received === undefined) return;
    const label = labelOf(received);
    statuses.set(label, (statuses.get(label) ?? 0) + 1);
    slowest.set(base.operation.id, Math.max(slowest.get(base.operation.id) ?? 0, received.milliseconds));
    const isJson = received.status < 300 && received.text.startsWith('{');
    if (received.status < 300) succeeded.add(base.operation.id);
    if (received.status < 300) pool.learn(base.operation, base.ids, isJson ? JSON.parse(received.text) : undefined);
    if (received.status === 429) await sleep(30);
    await callers.note(caller, received);
  };
  return {
    findings,
    /** Attacks for so long. Throws when the server is gone. */
    run: async (seconds: number): Promise<void> => {
      const until = performance.now() + seconds * 1000;
      const isOver = () => performance.now() > until || !ground.isRunning();
      const worker = async () => {
        while (!isOver()) await step();
      };
      const upkeep = async () => {
        while (!isOver()) {
          await furniture.keep();
          await sleep(1000);
        }
      };
      await furniture.keep();
      await Promise.all([upkeep(), ...Array.from({ length: connections }, worker)]);
    },
    /** The share of the operations that have succeeded at least once: where all is refused, nothing can be found. */
    reach: (): number => succeeded.size / operations.length,
    /** How much was asked, and how that was answered. */
    told: (): string => {
      const all = [...statuses].sort();
      const slow = [...slowest].sort(([, a], [, b]) => b - a).slice(0, 3);
      return [
        `${all.reduce((sum, [, times]) => sum + times, 0)} requests:`,
        all.map(([status, times]) => `${times} x ${status}`).join(', '),
        `; slowest: ${slow.map(([id, ms]) => `${id} ${Math.round(ms)} ms`).join(', ')}`,
      ].join(' ');
    },
    close: () => wire.close(),
  };
}

/** A status, and for those that say to try again later why. */
function labelOf({ status, text }: Received): string {
  const [, type] = status === 503 ? (/"type":"(\w+)"/.exec(text) ?? []) : [];
  return `${status}${type === undefined ? '' : ` ${type}`}`;
}
