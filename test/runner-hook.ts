// The runner of Node.js follows each timer and promise to the test that made it, with an async hook that takes an eighth of the suite's CPU
// time. It needs this while files register their tests. Afterwards it only serves to name the test that an uncaught error belongs to: the
// suite then goes without, and the error fails the file.
import { type AsyncHook, createHook } from 'node:async_hooks';

let runnerHook: AsyncHook | undefined;
let uncaught: { readonly error: unknown } | undefined;

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

/** Switches the hook off. All tests of the process must be registered. */
export function stopFollowing(): void {
  runnerHook?.disable();
}

/** Throws the first uncaught error since the last call, if there was one. */
export function throwUncaught(): void {
  const last = uncaught;
  uncaught = undefined;
  if (last !== undefined) throw last.error;
}

function keep(error: unknown): void {
  uncaught ??= { error };
}
