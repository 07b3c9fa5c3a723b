import { parentPort } from 'node:worker_threads';
import type { Expectation } from './expectation.js';
import { SamlRefused } from './refused.js';
import { verifyResponse } from './response.js';
import type { SamlVerdict } from './verifier.js';

// Verifies one response after another until the service ends.
parentPort?.on('message', ([encoded, expectation]: [string, Expectation]) =>
  parentPort?.postMessage(verdictOn(encoded, expectation)),
);

function verdictOn(encoded: string, expectation: Expectation): SamlVerdict {
  try {
    return { assertion: verifyResponse(encoded, expectation) };
  } catch (error) {
    if (error instanceof SamlRefused) return { refused: [error.reason, error.status] };
    throw error;
  }
}
