import { constants } from 'node:os';

/** Ends a command that goes on until it is told to end: it stops as it should, and the exit code is the one that a shell expects after the signal. */
export function endAtSignal(stop: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      process.exitCode = 128 + constants.signals[signal];
      stop();
    });
}
