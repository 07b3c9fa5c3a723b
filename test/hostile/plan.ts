// A request before it is sent: right at first, then spoiled step by step.
import type { Random } from '../documents/random.js';
import type { Credential, DescribedOperation, Document } from './described.js';
import type { Ids, Pool } from './pool.js';
import { fittingValue } from './values.js';

/** A request in parts that can be spoiled. */
export interface Plan {
  readonly operation: DescribedOperation;
  readonly ids: Ids;
  readonly credential: Credential;
  method: string;
  /** As it is sent, percent-encoded. */
  path: string;
  /** Names and values as they are sent, percent-encoded. */
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  /** Of the body, where it is JSON; absent where there is none. */
  body: { value: unknown } | undefined;
  /** Sent in place of the JSON. */
  raw: Buffer | undefined;
  /** Without a length, in pieces. */
  chunked: boolean;
}

/** Something done to a request, which does the same each time. */
export interface Spoil {
  readonly name: string;
  apply(plan: Plan): void;
}

/** What requests are made from. */
export interface Workshop {
  readonly document: Document;
  readonly operations: readonly DescribedOperation[];
  readonly pool: Pool;
  readonly random: Random;
  readonly receiver: string;
}

/** A kind of caller that the operation takes, seldom another. */
function credentialFor({ takes }: DescribedOperation, random: Random): Credential {
  return random.chance(0.93) ? random.pick(takes) : random.pick(['guest', 'session', 'jwt', 'key']);
}

/** A request for an operation as the document describes it. */
export function planFor(workshop: Workshop, operation: DescribedOperation): Plan {
  const { pool, random, document, receiver } = workshop;
  const found = pool.pick(operation.pathNames, random);
  const ids = Object.fromEntries(operation.pathNames.map((name) => [name, found[name] ?? strange(name, workshop)]));
  const making = { document, random, pool, receiver, ids, fields: operation.fields };
  const query = operation.query.flatMap(({ name, required, schema }): [string, string][] => {
    if (!required && random.chance(0.5)) return [];
    // An answer that waits for events is waited for by the attack as well.
    const value = name === 'wait' ? random.pick([0, 1]) : fittingValue(making, schema, name);
    const values = Array.isArray(value) ? value : [value];
    return values.map((one) => [Array.isArray(value) ? `${name}[]` : name, encodeText(String(one))]);
  });
  return {
    ...{ operation, ids, credential: credentialFor(operation, random), query },
    method: operation.method,
    path: `/v1${operation.template.replace(/\{(\w+)\}/g, (_, name: string) => encodeText(ids[name] ?? ''))}`,
    headers: [],
    body: operation.body === undefined ? undefined : { value: fittingValue(making, operation.body, '') },
    raw: undefined,
    chunked: false,
  };
}

function strange(name: string, { pool, random }: Workshop): string {
  if (name === 'type') return 'totp';
  if (name === 'sessionId' && random.chance(0.5)) return 'current';
  return random.chance(0.5) ? pool.foreign(random) : 'nothing-of-that-id';
}

/** Percent-encodes, lone surrogates as the three bytes that UTF-8 does not allow. */
export function encodeText(text: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text);
  return [...text].map((one) => (one.isWellFormed() ? encodeURIComponent(one) : '%ED%A0%80')).join('');
}

/** A copy that can be spoiled without the first being. */
export function copyOf(plan: Plan): Plan {
  const body = plan.body && { value: copyValue(plan.body.value) };
  return { ...plan, query: plan.query.map(([a, b]) => [a, b]), headers: plan.headers.map(([a, b]) => [a, b]), body };
}

/** Copies what is plain; what prints itself is never changed and stays the same. */
function copyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyValue);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyValue(inner)]));
}
