import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Failure } from '#src/contract/errors.js';
import { samlLimits } from '#src/contract/limits.js';
import { FairSemaphore } from '#src/platform/admission/fair-semaphore.js';
import { addressKey } from '#src/platform/admission/limiter.js';
import type { VerifiedAssertion } from './assertion.js';
import type { Expectation } from './expectation.js';
import { SamlRefused } from './refused.js';

/** The result sent by the thread. */
export type SamlVerdict =
  | { readonly assertion: VerifiedAssertion }
  | { readonly refused: ConstructorParameters<typeof SamlRefused> };

/** Verifies a response from a network address. Throws SamlRefused, and Failure 503 if the queue is full. */
export type SamlVerifier = (ip: string, encoded: string, expectation: Expectation) => Promise<VerifiedAssertion>;

/**
 * Verifies responses one at a time in a separate thread: canonicalising one of the maximum size takes hundreds of milliseconds, and anyone
 * can post it. The queue is limited in total and per address.
 */
export function createSamlVerifier(): SamlVerifier {
  const { waiting, waitingOfAddress, retrySeconds } = samlLimits;
  const slot = new FairSemaphore({
    all: 1,
    waiting: waiting - 1,
    waitingOfOwner: waitingOfAddress - 1,
    refuse: () => new Failure('general_unavailable', { retryAfter: retrySeconds }),
  });
  let thread: Worker | undefined;
  const verify = async (encoded: string, expectation: Expectation): Promise<VerifiedAssertion> => {
    thread ??= start(() => {
      thread = undefined;
    });
    const verdict = await ask(thread, [encoded, expectation]).catch((cause: unknown) => {
      const lost = thread;
      thread = undefined;
      void lost?.terminate();
      throw new Failure('general_unavailable', { retryAfter: retrySeconds, cause });
    });
    if ('refused' in verdict) throw new SamlRefused(...verdict.refused);
    return verdict.assertion;
  };
  return (ip, encoded, expectation) => slot.use(addressKey(ip), () => verify(encoded, expectation));
}

function start(onError: () => void): Worker {
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(isSource ? './verifier-thread.ts' : './saml-thread.js', import.meta.url);
  const thread = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: samlLimits.threadMiB } });
  thread.unref();
  thread.on('error', onError);
  return thread;
}

/** Sends a request to the thread. Rejects if the thread fails or exceeds the time limit. */
async function ask(thread: Worker, request: readonly [string, Expectation]): Promise<SamlVerdict> {
  const answer = once(thread, 'message', { signal: AbortSignal.timeout(samlLimits.verifyMs) });
  thread.postMessage(request);
  const [verdict] = await answer;
  return verdict;
}
