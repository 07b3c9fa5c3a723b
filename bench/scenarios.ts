import { createDocument, getDocument, graphqlGet, graphqlList, listDocuments } from './document-load.js';
import type { BenchRequest } from './request.js';
import { loginRequest, type World } from './world.js';

/** The databases that the product runs on. */
export type Database = 'sqlite' | 'postgres';

/** A load on the real server and the same load on bare Koa that answers what the real server answered. */
export interface ThroughputScenario {
  readonly kind: 'throughput';
  readonly name: string;
  readonly connections: number;
  readonly requests: (world: World) => readonly BenchRequest[];
  readonly status: number;
  /** The least share of bare Koa's requests per CPU-second. */
  readonly target: Readonly<Record<Database, number>>;
}

/** A load on the least program that could answer it, held against bare Koa as well: about what any server on the same packages can reach. */
export interface CeilingScenario {
  readonly kind: 'ceiling';
  readonly name: string;
  readonly connections: number;
  readonly requests: (world: World) => readonly BenchRequest[];
  readonly status: number;
}

/** Two loads on the real server that ask for the same in different ways, one held against the other. */
export interface ComparisonScenario {
  readonly kind: 'comparison';
  readonly name: string;
  readonly connections: number;
  readonly requests: (world: World) => readonly BenchRequest[];
  readonly base: (world: World) => readonly BenchRequest[];
  readonly status: number;
  /** The least share of the other's requests per CPU-second. */
  readonly target: number;
}

/** A load that is bound by password hashes, held against the hashes alone. */
export interface HashBoundScenario {
  readonly kind: 'hash-bound';
  readonly name: string;
  readonly connections: number;
  readonly requests: (world: World) => readonly BenchRequest[];
  readonly status: number;
  /** The least share of the hashes per CPU-second of a process that does nothing else. */
  readonly target: Readonly<Record<Database, number>>;
}

/** A light load alone, then the same beside a heavy one. */
export interface InterferenceScenario {
  readonly kind: 'interference';
  readonly name: string;
  readonly light: { connections: number; requests: (world: World) => readonly BenchRequest[]; status: number };
  readonly heavy: { connections: number; requests: (world: World) => readonly BenchRequest[]; status: number };
  /** How many times slower the light load may get at the middle and at the slow end. */
  readonly target: { readonly p50: number; readonly p99: number };
}

/** From starting the process to its first ready answer, held against bare Koa. */
export interface ColdStartScenario {
  readonly kind: 'cold-start';
  readonly name: string;
  readonly runs: number;
  /** How many times longer than bare Koa it may take. */
  readonly target: number;
}

/** Memory of the freshly started server that nobody has asked anything but whether it is ready. */
export interface IdleMemoryScenario {
  readonly kind: 'idle-memory';
  readonly name: string;
  readonly settleSeconds: number;
  readonly targetMebibytes: number;
}

/** Anything the benchmark can run. */
export type Scenario =
  | ThroughputScenario
  | CeilingScenario
  | ComparisonScenario
  | HashBoundScenario
  | InterferenceScenario
  | ColdStartScenario
  | IdleMemoryScenario;

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
  { kind: 'cold-start', name: 'cold start', runs: 5, target: 4 },
  { kind: 'idle-memory', name: 'idle memory', settleSeconds: 2, targetMebibytes: 120 },
];
