// A reporter of the node test runner (https://nodejs.org/api/test.html#custom-reporters); the runner loads it without tsx, hence JavaScript.
import { relative } from 'node:path';

/**
 * The failed tests of a run, as `file: test: first line of the error`; nothing when all passed. A test that failed only because of one inside it is left out.
 * @param {AsyncIterable<import('node:test/reporters').TestEvent>} events
 */
export default async function* failedTests(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue;
    const error = data.details.error;
    if (error.failureType === 'subtestsFailed') continue;
    const reason = String(error.cause?.message ?? error.message).split('\n')[0];
    // A file that fails outside its tests is reported as the suite that is named after it.
    const file = data.name.endsWith('.test.ts') || !data.file ? data.name : relative('', data.file);
    yield `${file}: ${data.name}: ${reason}\n`;
  }
}
