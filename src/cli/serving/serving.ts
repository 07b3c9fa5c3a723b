import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import type { Appliance } from '#src/appliance.js';
import type { Listener } from '#src/http/server.js';
import { exitCodes } from '../terminal/exit.js';
import { removePidFile } from './pid-file.js';

/** Time limit for running requests after the first signal. */
const drainMs = 30_000;

/** Effects of signals on a server. */
interface Signals {
  readonly pidfile: string | undefined;
  /** Seconds from SIGTERM until no connection is accepted. Load balancers see `/readyz` before. */
  readonly drainSeconds: number;
  /** Called on SIGHUP, unless the terminal of the server was closed. */
  readonly reload: () => void;
}

/** Signals that arrive while the server opens its port, before it can end properly. */
export interface HeldSignals {
  /** Passes them on to the handlers that are there now, or to the system. */
  release(): void;
}

/** Holds SIGTERM and SIGINT back. A supervisor sends them as soon as `/readyz` answers. */
export function holdSignals(): HeldSignals {
  const arrived = new Set<NodeJS.Signals>();
  const hold = (signal: NodeJS.Signals) => void arrived.add(signal);
  const names = ['SIGTERM', 'SIGINT'] as const;
  for (const name of names) process.on(name, hold);
  return {
    release: () => {
      for (const name of names) process.off(name, hold);
      for (const signal of arrived) process.kill(process.pid, signal);
    },
  };
}

/** Runs the server until a signal or an unexpected error, then exits the process. A second signal exits immediately. */
export function serveUntilSignal(
  { runtime, close }: Appliance,
  listener: Listener,
  { pidfile, drainSeconds, reload }: Signals,
): void {
  const { log } = runtime;
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  let draining = false;
  const end = (code: number): never => {
    if (pidfile !== undefined) removePidFile(pidfile);
    log.flush();
    process.exit(code);
  };
  const drain = async (code: number, announcedSeconds = 0): Promise<void> => {
    draining = true;
    if (announcedSeconds > 0) {
      listener.announceEnd();
      await sleep(announcedSeconds * 1000);
    }
    setTimeout(() => {
      log.error('serve.drain.gave-up', { afterMs: drainMs });
      end(exitCodes.failed);
    }, drainMs).unref();
    await listener.drain();
    await close();
    log.info('serve.ended');
    end(code);
  };
  const onSignal = (signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', atOnce: number) => {
    process.on(signal, () => {
      if (draining) end(atOnce);
      // A closed terminal is no terminal any more. Otherwise an operator or logrotate has sent the signal.
      if (signal === 'SIGHUP' && terminals.every((descriptor) => isatty(descriptor))) {
        reload();
        return;
      }
      const seconds = signal === 'SIGTERM' ? drainSeconds : 0;
      log.info('serve.draining', { signal, announcedSeconds: seconds || undefined });
      drain(exitCodes.ok, seconds).catch((error: unknown) => fail(error));
    });
  };
  const fail = (error: unknown): void => {
    log.error('process.failed', describeDefect(error));
    if (draining) end(exitCodes.failed);
    drain(exitCodes.failed).catch(() => end(exitCodes.failed));
  };
  onSignal('SIGTERM', exitCodes.terminated);
  onSignal('SIGINT', exitCodes.interrupted);
  onSignal('SIGHUP', exitCodes.hungUp);
  // Ignored: other programs reopen their logs, but Node would open its debugger to all users of the machine, or exit.
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => {});
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  // The one line on stdout need not be read.
  process.stdout.removeAllListeners('error');
  process.stdout.on('error', () => {});
}

/** Describes an unexpected error without its message, which may contain SQL and values. */
function describeDefect(error: unknown) {
  if (!(error instanceof Error)) return { name: typeof error };
  const places = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const code = 'code' in error ? String(error.code) : undefined;
  return { name: error.name, code, at: places.slice(0, 5).join(' ').replace(/\s+/g, ' ').trim() };
}
