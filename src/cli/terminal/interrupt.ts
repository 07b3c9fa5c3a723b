import { constants } from 'node:os';

/** Stops a long-running command on SIGINT or SIGTERM. Sets the exit code that shells expect for the signal. */
export function endAtSignal(stop: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      process.exitCode = 128 + constants.signals[signal];
      stop();
    });
}

/** Creates a signal that is aborted in the same way. */
export function endingSignal(): AbortSignal {
  const ending = new AbortController();
  endAtSignal(() => ending.abort());
  return ending.signal;
}
