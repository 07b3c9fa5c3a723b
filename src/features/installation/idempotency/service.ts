import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import type { IdempotentRequest } from '#src/contract/idempotency.js';
import { clockSkewSeconds, idempotencyLimits } from '#src/contract/limits.js';
import { RawJson } from '#src/contract/raw-json.js';
import { isSealed, type SealedAad } from '#src/platform/crypto/sealing.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { printJson } from '#src/platform/text/json.js';
import { createUsageQuotas, type KeyedCaller } from './shares.js';
import {
  type IdempotencyStore,
  type IdempotentRow,
  idempotentRequests,
  type StoredAnswer,
  sealedAnswers,
} from './store.js';

/** A request with an Idempotency-Key. */
interface KeyedRequest extends KeyedCaller {
  readonly operation: string;
  readonly key: string;
  /** The wrapped data key of the project. */
  readonly dataKey: string;
  /** Everything in the request that must match in a retry. */
  readonly content: unknown;
  /** The status of the response, unless the response contains its own. */
  readonly status: number;
}

type RunRequest = (request: IdempotentRequest) => Promise<unknown>;
type Repeat = (kept: () => RawJson | undefined) => Promise<RawJson | undefined>;

/** Executes requests with an Idempotency-Key once, however often they are sent. */
export interface Idempotency {
  /**
   * Runs a request, or returns its stored response if the same caller sent the same key for the same operation in the last 24 hours. Only
   * successful responses are stored. `repeat` may refuse a retry or change its response. Throws Failure if another request used the key, or
   * if the first one does not finish in time.
   */
  once(by: AuditContext, request: KeyedRequest, run: RunRequest, repeat?: Repeat): Promise<unknown>;
  /**
   * Stores the response in the unit that makes the change, so that one never exists without the other. Seals a secret response, which may
   * contain values of encrypted attributes.
   */
  keep(
    unit: Unit,
    request: IdempotentRequest | undefined,
    status: number,
    answer: unknown,
    isSecret?: boolean,
  ): Promise<void>;
  /** Deletes the responses to a user. */
  forgetUser(unit: Unit, projectId: string, userId: string): Promise<void>;
  /** Deletes responses to server keys that start with one of these texts. */
  forgetAnswers(unit: Unit, projectId: string, begins: readonly string[]): Promise<void>;
}

const hourMs = 3_600_000;
const leaseMs = idempotencyLimits.leaseSeconds * 1000;
const skewMs = clockSkewSeconds * 1000;
/** Milliseconds between two reads while a retry waits for the first request; doubles up to `longest`. */
const looks = { first: 20, longest: 250 } as const;

type IdempotencyRuntime = Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing'>;

interface Deps extends IdempotencyRuntime {
  readonly store: IdempotencyStore;
  readonly takeQuota: (of: KeyedCaller) => Promise<(bytes: number) => boolean>;
  /** Number of retries that wait for the first request. */
  readonly waiting: { count: number };
  /** Claims of requests that ended while the database was unavailable: the claim is still stored, and nothing is carried out. */
  readonly abandoned: Set<string>;
}

/** Most abandoned claims in memory. Others expire after their lease. */
const mostAbandoned = 10_000;

/** Creates the service. */
export function createIdempotency(runtime: IdempotencyRuntime, store: IdempotencyStore): Idempotency {
  const { db, clock, random, sealing } = runtime;
  const takeQuota = createUsageQuotas({ db, clock }, store);
  const deps: Deps = { db, clock, random, sealing, store, takeQuota, waiting: { count: 0 }, abandoned: new Set() };
  return {
    ...bind(deps, { once, keep }),
    forgetUser: async (unit, projectId, userId) => {
      await unit.run(store.forget(projectId, `user:${userId}`));
    },
    forgetAnswers: async (unit, projectId, begins) => {
      if (begins.length > 0) await unit.run(store.forgetAnswers(projectId, begins));
    },
  };
}

async function once(
  deps: Deps,
  by: AuditContext,
  request: KeyedRequest,
  run: RunRequest,
  repeat?: Repeat,
): Promise<unknown> {
  const { clock, sealing, waiting } = deps;
  const { projectId, caller, operation, key, dataKey, content } = request;
  const hash = hashOf([projectId, caller, operation, key]);
  const fingerprint = hashOf(content);
  const until = clock.monotonic() + idempotencyLimits.waitSeconds * 1000;
  for (let pause: number = looks.first; ; pause = Math.min(pause * 2, looks.longest)) {
    const row = await find(deps, hash);
    if (row !== undefined && row.fingerprint !== fingerprint) throw new Failure('general_idempotency_mismatch');
    if (row !== undefined && row.status !== null) {
      const kept = () => answerOf(row, (sealed) => sealing.tryOpen(projectId, dataKey, aadOf(hash), sealed));
      return repeat === undefined ? kept() : repeat(kept);
    }
    if (row === undefined || !isHeld(deps, row) || (await releaseAbandoned(deps, by, row))) {
      const claimed = await claim(deps, by, hash, fingerprint, request);
      if (claimed !== undefined) return carryOut(deps, by, claimed, request.status, run);
      continue;
    }
    if (clock.monotonic() >= until || waiting.count >= idempotencyLimits.waiting) throw locked();
    waiting.count += 1;
    await sleep(pause).finally(() => {
      waiting.count -= 1;
    });
  }
}

async function find({ db, clock, store }: Deps, hash: string): Promise<IdempotentRow | undefined> {
  const row = await db.one(store.find(hash));
  const found = row && idempotentRequests.decode(row);
  return found === undefined || found.createdAt < oldest(clock) ? undefined : found;
}

function oldest(clock: Deps['clock']): number {
  return clock.now() - idempotencyLimits.hours * hourMs;
}

function isHeld({ clock }: Deps, { claimedUntil }: IdempotentRow): boolean {
  return claimedUntil >= clock.now() && claimedUntil <= clock.now() + leaseMs + skewMs;
}

/** Removes the claim of a request that has ended without releasing it. False for any other claim. */
async function releaseAbandoned(
  { db, store, abandoned }: Deps,
  by: AuditContext,
  { hash, claim: id }: IdempotentRow,
): Promise<boolean> {
  if (!abandoned.has(id)) return false;
  await db.work(by, (unit) => unit.run(store.release(hash, id)));
  abandoned.delete(id);
  return true;
}

function abandon({ abandoned }: Deps, id: string): void {
  if (abandoned.size < mostAbandoned) abandoned.add(id);
}

async function claim(
  deps: Deps,
  by: AuditContext,
  hash: string,
  fingerprint: string,
  { projectId, caller, dataKey }: KeyedRequest,
): Promise<IdempotentRequest | undefined> {
  const { db, clock, random, sealing, store, takeQuota } = deps;
  const takesBytes = await takeQuota({ projectId, caller });
  const id = random.id();
  const now = clock.now();
  const begun = { fingerprint, claim: id, claimedUntil: now + leaseMs, createdAt: now };
  const row = { hash, projectId, caller, ...begun, status: null, answer: null, etag: null, bytes: 0 };
  const claimed = await db
    .work(by, (unit) => unit.one(store.claim(row, oldest(clock))))
    .catch((error: unknown) => {
      // It may have been stored all the same.
      abandon(deps, id);
      throw error;
    });
  const seal = (answer: string) => sealing.seal(projectId, dataKey, aadOf(hash), answer);
  return claimed === undefined ? undefined : { hash, claim: id, takesBytes, seal, kept: false };
}

async function carryOut(deps: Deps, by: AuditContext, request: IdempotentRequest, status: number, run: RunRequest) {
  const { db, store } = deps;
  try {
    const result = await run(request);
    if (!request.kept) await db.work(by, (unit) => keep(deps, unit, request, status, result));
    return result;
  } catch (error) {
    await db
      .work(by, (unit) => unit.run(store.release(request.hash, request.claim)))
      .catch(() => abandon(deps, request.claim));
    throw error;
  }
}

async function keep(
  { store }: Deps,
  unit: Unit,
  request: IdempotentRequest | undefined,
  status: number,
  answer: unknown,
  isSecret = false,
): Promise<void> {
  if (request === undefined) return;
  const stored = storedAnswer(request, status, answer, isSecret);
  if ((await unit.run(store.keep(request.hash, request.claim, stored))) === 0) throw locked();
  request.kept = true;
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(printJson(value)).digest('base64url');
}

function locked(): Failure {
  return new Failure('general_resource_locked', { retryAfter: idempotencyLimits.retrySeconds });
}

function aadOf(hash: string): SealedAad {
  return { column: sealedAnswers, row: hash };
}

function storedAnswer(
  { takesBytes, seal }: IdempotentRequest,
  status: number,
  answer: unknown,
  isSecret: boolean,
): StoredAnswer {
  const raw = answer instanceof RawJson ? answer : new RawJson(answer === undefined ? '' : printJson(answer));
  const bytes = Buffer.byteLength(raw.text);
  const isKept = answer !== undefined && takesBytes(bytes);
  return {
    status: raw.status ?? status,
    answer: isKept ? (isSecret ? seal(raw.text) : raw.text) : null,
    etag: raw.etag ?? null,
    bytes: isKept || answer === undefined ? bytes : -1,
  };
}

/** The stored response, as text or empty. Throws Failure if it was not stored or cannot be opened. */
function answerOf(
  { status, answer, etag, bytes }: IdempotentRow,
  open: (sealed: string) => string | undefined,
): RawJson | undefined {
  if (bytes < 0)
    throw new Failure('general_answer_too_large', {
      message:
        'The request was carried out before. Its response was not kept: it was too large, or too many were kept.',
    });
  if (answer === null) return undefined;
  const text = isSealed(answer) ? open(answer) : answer;
  if (text === undefined)
    throw new Failure('general_unavailable', {
      message: 'The request was carried out before. Its response is damaged in the database.',
    });
  return new RawJson(text, status ?? undefined, etag ?? undefined);
}
