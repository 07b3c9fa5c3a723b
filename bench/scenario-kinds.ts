import type { LoadGroup } from './load-plan.js';
import type { BenchRequest } from './request.js';
import type { Audience } from './secured.js';
import type { World } from './world.js';

/** The databases that the product runs on. */
export type Database = 'sqlite' | 'postgres';

/** A load on the real server and the same load on bare Koa that answers what the real server answered. */
export interface ThroughputScenario {
  readonly kind: 'throughput';
  readonly name: string;
  readonly connections: number;
  readonly requests: (world: World) => readonly BenchRequest[];
  readonly status: number;
  /** The collection with document security that is listed; what that costs depends on its rows. */
  readonly audience?: Audience;
  /** The least share of bare Koa's requests per CPU-second; of such a list with 10 000 rows. */
  readonly target?: Readonly<Record<Database, number>>;
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
  /** The length of the sequences that the requests come in, as in `LoadGroup`; those of `base` come in none. */
  readonly sequence?: number;
  readonly base: (world: World) => readonly BenchRequest[];
  readonly status: number;
  /** The least share of the other's requests per CPU-second. */
  readonly target?: number;
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

/** Requests of one kind. */
export interface Load extends Pick<LoadGroup, 'connections' | 'status' | 'sequence' | 'bytesPerSecond'> {
  readonly requests: (world: World) => readonly BenchRequest[];
}

/** A light load alone, then the same beside a heavy one. */
export interface InterferenceScenario {
  readonly kind: 'interference';
  readonly name: string;
  readonly light: Load;
  readonly heavy: Load;
  /** How many times slower the light load may get at the middle and at the slow end. */
  readonly target: { readonly p50: number; readonly p99: number };
}

/** Deliveries to webhooks, held against a client that posts the same body and does nothing else. */
export interface DeliveryScenario {
  readonly kind: 'deliveries';
  readonly name: string;
  readonly webhooks: number;
  /** New documents of which each webhook is told. */
  readonly documents: number;
  /** The least share of the deliveries per CPU-second of that client. */
  readonly target: Readonly<Record<Database, number>>;
}

/** Reads beside new documents, of which webhooks are told or not. */
export interface DeliveryInterferenceScenario {
  readonly kind: 'delivery-interference';
  readonly name: string;
  readonly webhooks: number;
  readonly eventsPerSecond: number;
  /** Connections of the reads. */
  readonly connections: number;
  /** The least share of the reads per second that stays, and the most milliseconds until a delivery is there. */
  readonly target: { readonly reads: number; readonly p95: number };
}

/** Files that come or go, held against Node's own streams. */
export interface FileScenario {
  readonly kind: 'files';
  readonly name: string;
  readonly direction: 'download' | 'upload';
  /** Bytes of a file, and how many of them a round moves. */
  readonly bytes: number;
  readonly times: number;
  readonly connections: number;
  /** The least share of the bytes per CPU-second. */
  readonly target: number;
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
  | DeliveryScenario
  | DeliveryInterferenceScenario
  | FileScenario
  | ColdStartScenario
  | IdleMemoryScenario;
