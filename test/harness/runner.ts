// The runner of Node.js follows each timer and promise to the test that made it, with an async hook that takes an eighth of the suite's CPU
// time. It needs this while files register their tests. Afterwards the suite goes without: `after` of this file finds the running test in
// another way, and an uncaught error fails the file instead of the test.
import { type AsyncHook, createHook } from 'node:async_hooks';
import {
  afterEach as afterEachTest,
  beforeEach as beforeEachTest,
  after as nodeAfter,
  type TestContext,
} from 'node:test';

type CleanUp = () => unknown;

let runnerHook: AsyncHook | undefined;
let isFollowing = true;
let uncaught: { readonly error: unknown } | undefined;
/** The running test and those around it. */
const running: TestContext[] = [];
const ofFile: CleanUp[] = [];

process.on('uncaughtExceptionMonitor', keep);
process.on('unhandledRejection', keep);

/** Calls the function of the runner that adds a suite. The first call in a process switches the hook on. */
export function addSuite(describe: () => void): void {
  const prototype: AsyncHook = Object.getPrototypeOf(createHook({}));
  const { enable } = prototype;
  prototype.enable = function (this: AsyncHook) {
    runnerHook ??= this;
    return enable.call(this);
  };
  try {
    describe();
  } finally {
    prototype.enable = enable;
  }
}

/** Notes which tests of the suite run. Called while the suite is made. */
export function noteTests(): void {
  beforeEachTest((test) => {
    running.push(test as TestContext);
  });
  afterEachTest((test) => {
    running.length = Math.max(0, running.indexOf(test as TestContext));
  });
}

/** Switches the hook off. All tests of the process must be registered. */
export function stopFollowing(): void {
  if (runnerHook === undefined) return;
  runnerHook.disable();
  isFollowing = false;
}

/** Calls the function after the running test, or at the end of the file outside of one. */
export function after(cleanUp: CleanUp): void {
  const test = running.at(-1);
  if (isFollowing) nodeAfter(() => cleanUp());
  else if (test !== undefined) test.after(() => cleanUp());
  else ofFile.push(cleanUp);
}

/** Ends a file: cleans up, and throws the first uncaught error of its tests, if there was one. */
export async function endFile(): Promise<void> {
  for (const cleanUp of ofFile.splice(0)) await cleanUp();
  const last = uncaught;
  uncaught = undefined;
  if (last !== undefined) throw last.error;
}

function keep(error: unknown): void {
  uncaught ??= { error };
}
