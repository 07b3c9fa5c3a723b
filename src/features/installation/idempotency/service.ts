import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '#src/contract/errors.js';
import type { IdempotentRequest } from '#src/contract/idempotency.js';
import { clockSkewSeconds, idempotencyLimits } from '#src/contract/limits.js';
import { RawJson } from '#src/contract/raw-json.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import { type IdempotencyStore, type IdempotentRow, idempotentRequests, type StoredAnswer } from './store.js';
import { createShares, type KeyedCaller } from './usage/shares.js';

/** A request with an Idempotency-Key as it arrives. */
interface KeyedRequest extends KeyedCaller {
  readonly operation: string;
  readonly key: string;
  /** Everything that the request says. */
  readonly content: unknown;
  /** The status of its answer, unless the answer names another one. */
  readonly status: number;
}

/** Requests that are carried out once, however often they arrive. */
export interface Idempotency {
  /**
   * Runs what a request asks for, or returns the answer that it was given before: to the same caller, for the same operation, in the last 24
   * hours. Only what succeeds is kept. Throws Failure where another request has used the key, or the first one is not done in time.
   */
  once(
    by: AuditContext,
    request: KeyedRequest,
    run: (request: IdempotentRequest) => Promise<unknown>,
  ): Promise<unknown>;
  /** Keeps the answer in the unit that does what is asked, so that there is never one without the other. */
  keep(unit: Unit, request: IdempotentRequest | undefined, status: number, answer: unknown): Promise<void>;
  /** Deletes what a user was answered. */
  forgetUser(unit: Unit, projectId: string, userId: string): Promise<void>;
  /** Deletes what server keys were answered in texts that begin with one of these. */
  forgetAnswers(unit: Unit, projectId: string, begins: readonly string[]): Promise<void>;
}

const hourMs = 3_600_000;
const leaseMs = idempotencyLimits.leaseSeconds * 1000;
const skewMs = clockSkewSeconds * 1000;
/** How long a duplicate waits before it looks again, at first and at most. */
const looks = { first: 20, longest: 250 } as const;

/** Creates the service. */
export function createIdempotency(
  { db, clock, random }: Pick<Runtime, 'db' | 'clock' | 'random'>,
  store: IdempotencyStore,
): Idempotency {
  const shares = createShares({ db, clock }, store);
  let waiting = 0;

  const find = async (hash: string): Promise<IdempotentRow | undefined> => {
    const row = await db.one(store.find(hash));
    const found = row && idempotentRequests.decode(row);
    return found === undefined || found.createdAt < oldest() ? undefined : found;
  };
  const oldest = () => clock.now() - idempotencyLimits.hours * hourMs;
  const isHeld = ({ claimedUntil }: IdempotentRow) =>
    claimedUntil >= clock.now() && claimedUntil <= clock.now() + leaseMs + skewMs;
  const claim = async (by: AuditContext, hash: string, fingerprint: string, { projectId, caller }: KeyedCaller) => {
    const takesBytes = await shares.take({ projectId, caller });
    const id = random.id();
    const now = clock.now();
    const row = {
      hash,
      projectId,
      caller,
      fingerprint,
      claim: id,
      claimedUntil: now + leaseMs,
      createdAt: now,
      status: null,
      answer: null,
      etag: null,
      bytes: 0,
    };
    const claimed = await db.work(by, (unit) => unit.one(store.claim(row, oldest())));
    return claimed === undefined ? undefined : { hash, claim: id, takesBytes, kept: false };
  };
  const keep: Idempotency['keep'] = async (unit, request, status, answer) => {
    if (request === undefined) return;
    const stored = storedAnswer(request, status, answer);
    if ((await unit.run(store.keep(request.hash, request.claim, stored))) === 0) throw locked();
    request.kept = true;
  };
  const carryOut = async (
    by: AuditContext,
    request: IdempotentRequest,
    status: number,
    run: (request: IdempotentRequest) => Promise<unknown>,
  ): Promise<unknown> => {
    try {
      const result = await run(request);
      if (!request.kept) await db.work(by, (unit) => keep(unit, request, status, result));
      return result;
    } catch (error) {
      // Where this fails too the claim ends by itself.
      await db.work(by, (unit) => unit.run(store.release(request.hash, request.claim))).catch(() => undefined);
      throw error;
    }
  };

  return {
    keep,
    forgetUser: async (unit, projectId, userId) => {
      await unit.run(store.forget(projectId, `user:${userId}`));
    },
    forgetAnswers: async (unit, projectId, begins) => {
      if (begins.length > 0) await unit.run(store.forgetAnswers(projectId, begins));
    },
    once: async (by, { projectId, caller, operation, key, content, status }, run) => {
      const hash = hashOf([projectId, caller, operation, key]);
      const fingerprint = hashOf(content);
      const until = clock.monotonic() + idempotencyLimits.waitSeconds * 1000;
      for (let pause: number = looks.first; ; pause = Math.min(pause * 2, looks.longest)) {
        const row = await find(hash);
        if (row !== undefined && row.fingerprint !== fingerprint) throw new Failure('general_idempotency_mismatch');
        if (row !== undefined && row.status !== null) return answerOf(row);
        if (row === undefined || !isHeld(row)) {
          const request = await claim(by, hash, fingerprint, { projectId, caller });
          if (request !== undefined) return carryOut(by, request, status, run);
          continue;
        }
        if (clock.monotonic() >= until || waiting >= idempotencyLimits.waiting) throw locked();
        waiting += 1;
        await sleep(pause).finally(() => {
          waiting -= 1;
        });
      }
    },
  };
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(printJson(value)).digest('base64url');
}

function locked(): Failure {
  return new Failure('general_resource_locked', { retryAfter: idempotencyLimits.retrySeconds });
}

function storedAnswer({ takesBytes }: IdempotentRequest, status: number, answer: unknown): StoredAnswer {
  const raw = answer instanceof RawJson ? answer : new RawJson(answer === undefined ? '' : printJson(answer));
  const bytes = Buffer.byteLength(raw.text);
  const isKept = answer !== undefined && takesBytes(bytes);
  return {
    status: raw.status ?? status,
    answer: isKept ? raw.text : null,
    etag: raw.etag ?? null,
    bytes: isKept || answer === undefined ? bytes : -1,
  };
}

/** The answer of an operation that replies with text, or with nothing. */
function answerOf({ status, answer, etag, bytes }: IdempotentRow): RawJson | undefined {
  if (bytes < 0)
    throw new Failure('general_answer_too_large', {
      message:
        'The request was carried out before. Its response was not kept: it was too large, or too many were kept.',
    });
  return answer === null ? undefined : new RawJson(answer, status ?? undefined, etag ?? undefined);
}
