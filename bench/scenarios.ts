import { createDocument, getDocument, graphqlGet, graphqlList, listDocuments, listMany } from './document-load.js';
import { getScenarios, listScenarios } from './list-load.js';
import type { BenchRequest } from './request.js';
import type { Scenario } from './scenario-kinds.js';
import { togetherScenarios, transactionScenario } from './together.js';
import { totalScenarios } from './totals.js';
import { loginRequest, type World } from './world.js';

const readAccount = ({ project, sessions }: World): BenchRequest[] =>
  sessions.map((session) => ({
    method: 'GET',
    path: '/v1/account',
    headers: { 'X-Service-Project': project, 'X-Service-Session': session },
  }));
const logIn = ({ project, accounts }: World): BenchRequest[] =>
  accounts.map((account) => loginRequest(project, account));

/** Every row of the report, in the order in which it is measured. */
export const scenarios: readonly Scenario[] = [
  {
    kind: 'throughput',
    name: 'account',
    connections: 32,
    requests: readAccount,
    status: 200,
    target: { sqlite: 0.35, postgres: 0.3 },
  },
  {
    kind: 'throughput',
    name: 'document get',
    connections: 32,
    requests: getDocument,
    status: 200,
    target: { sqlite: 0.28, postgres: 0.22 },
  },
  {
    kind: 'throughput',
    name: 'document list',
    connections: 32,
    requests: listDocuments,
    status: 200,
    target: { sqlite: 0.24, postgres: 0.15 },
  },
  {
    kind: 'throughput',
    name: 'document create',
    connections: 32,
    requests: createDocument,
    status: 201,
    target: { sqlite: 0.2, postgres: 0.12 },
  },
  ...getScenarios,
  ...listScenarios,
  ...totalScenarios,
  ...togetherScenarios,
  transactionScenario,
  {
    kind: 'ceiling',
    name: 'document create, rows alone',
    connections: 32,
    requests: createDocument,
    status: 201,
  },
  {
    kind: 'comparison',
    name: 'GraphQL get',
    connections: 32,
    requests: graphqlGet,
    base: getDocument,
    status: 200,
    target: 0.55,
  },
  {
    kind: 'comparison',
    name: 'GraphQL list',
    connections: 32,
    requests: graphqlList,
    base: listDocuments,
    status: 200,
    target: 0.55,
  },
  {
    kind: 'hash-bound',
    name: 'login',
    connections: 8,
    requests: logIn,
    status: 201,
    target: { sqlite: 0.8, postgres: 0.8 },
  },
  {
    kind: 'interference',
    name: 'reads during logins',
    light: { connections: 4, requests: readAccount, status: 200 },
    heavy: { connections: 8, requests: logIn, status: 201 },
    target: { p50: 3, p99: 10 },
  },
  {
    kind: 'interference',
    name: 'reads beside slow readers',
    light: { connections: 4, requests: getDocument, status: 200 },
    heavy: { connections: 16, requests: listMany, status: 200, bytesPerSecond: 2_000_000 },
    target: { p50: 3, p99: 10 },
  },
  {
    kind: 'deliveries',
    name: 'deliveries',
    webhooks: 10,
    documents: 500,
    target: { sqlite: 0.25, postgres: 0.25 },
  },
  {
    kind: 'delivery-interference',
    name: 'reads during deliveries',
    webhooks: 10,
    eventsPerSecond: 100,
    connections: 32,
    target: { reads: 0.7, p95: 2000 },
  },
  ...(
    [
      ['download of 1 MB', 'download', 1_000_000, 1000],
      ['download of 100 MB', 'download', 100_000_000, 10],
      ['upload of 1 MB', 'upload', 1_000_000, 300],
    ] as const
  ).map(
    ([name, direction, bytes, times]): Scenario => ({
      kind: 'files',
      name,
      direction,
      bytes,
      times,
      connections: 4,
      target: 0.6,
    }),
  ),
  { kind: 'cold-start', name: 'cold start', runs: 5, target: 4 },
  { kind: 'idle-memory', name: 'idle memory', settleSeconds: 2, targetMebibytes: 120 },
];
