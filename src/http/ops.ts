import { z } from 'zod';
import { hasScope } from '#src/contract/actor.js';
import { declare, json, rawJson, textReply } from '#src/contract/declaration.js';
import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { implement, type Operation } from '#src/contract/operation.js';
import type { RawJson } from '#src/contract/raw-json.js';
import type { Features } from '#src/features/index.js';
import type { Runtime } from '#src/platform/index.js';
import { createApiText } from './openapi.js';

const common = {
  tag: 'operations',
  method: 'GET',
  atRoot: true,
  access: { auth: ['guest', 'user', 'key'] },
  limits: { calls: 'none' },
} as const;

const opsApi = declare({
  health: {
    ...common,
    id: 'operations.health',
    path: '/healthz',
    summary: 'Liveness: the process answers.',
    access: { ...common.access, project: false },
    reply: { status: 200, shape: json(z.object({ status: z.literal('ok') })), errors: [] },
  },
  ready: {
    ...common,
    id: 'operations.ready',
    path: '/readyz',
    summary:
      'Readiness: the database answers and the server is not going down. Readers are served while `writable` is false.',
    access: { ...common.access, project: false },
    reply: {
      status: 200,
      shape: json(
        z.object({ status: z.literal('ok'), checks: z.object({ database: z.literal('ok'), writable: z.boolean() }) }),
      ),
      errors: ['general_unavailable'],
    },
  },
  metrics: {
    ...common,
    id: 'operations.metrics',
    path: '/metrics',
    summary: 'Measurements in the Prometheus exposition format.',
    access: { ...common.access, project: false },
    reply: { status: 200, shape: textReply('text/plain; version=0.0.4; charset=utf-8'), errors: [] },
  },
  openapi: {
    ...common,
    id: 'operations.openapi',
    path: '/openapi.json',
    summary:
      'This description, for the project of the request. A server key with `collections.read` gets its collections with their own types too.',
    limits: { calls: 'data' },
    reply: { status: 200, shape: rawJson(z.record(z.string(), z.unknown())), bound: 'budget', errors: [] },
  },
  ping: {
    ...common,
    id: 'operations.ping',
    path: '/ping',
    summary: 'Answers Pong!',
    access: { ...common.access, project: false, readableByPlatforms: true },
    reply: { status: 200, shape: textReply('text/plain; charset=utf-8'), errors: [] },
  },
});

/** Operations for operators of the installation. */
export function createOps(
  { driver, db, writability, metrics, config }: Pick<Runtime, 'driver' | 'db' | 'writability' | 'metrics' | 'config'>,
  { databases, servers, masterKey }: Pick<Features, 'databases' | 'servers' | 'masterKey'>,
  state: ServerState,
): readonly Operation[] {
  const unready = (checks: Record<string, string>, cause?: unknown) =>
    new Failure('general_unavailable', { retryAfter: 1, members: { status: 'unavailable', checks }, cause });
  const description = createApiText(() => state.operations, config);
  const operations: readonly Operation[] = implement(opsApi, {
    health: () => ({ status: 'ok' as const }),
    ready: async () => {
      if (!state.isReady) throw unready({ server: 'draining' });
      const steps = servers.forbiddenSteps();
      if (steps.length > 0) throw unready({ schema: `newer than this version of svc: ${steps.join(', ')}` });
      if (masterKey.isLost()) throw unready({ masterKey: 'another one than that of the database' });
      await driver.ping().catch((error: unknown) => {
        throw unready({ database: 'unavailable' }, error);
      });
      return { status: 'ok' as const, checks: { database: 'ok' as const, writable: writability.isWritable() } };
    },
    metrics: () => metrics.render(),
    openapi: async ({ project, actor, request }) => {
      const isTold = actor.kind === 'key' && hasScope(actor, 'collections.read');
      const all = (isTold ? await databases.describedCollections(db, project.id) : undefined) ?? [];
      const collections = all.length > schemaLimits.described ? [] : all;
      return request.budget.read(async (bytes) => {
        const whole = description(project, collections);
        const value = lengthOf(whole) > config.answerMaxBytes ? description(project, []) : whole;
        bytes.count(lengthOf(value));
        return value;
      });
    },
    ping: () => 'Pong!',
  });
  return operations;
}

const lengthOf = ({ parts }: RawJson) => parts.reduce((sum, part) => sum + part.length, 0);

/** The state of the server that its own operations report. */
export interface ServerState {
  /** False from the announcement of the end. Requests are still served. */
  isReady: boolean;
  /** True when only running requests are served. */
  draining: boolean;
  /** All operations, including these. */
  operations: readonly Operation[];
}
