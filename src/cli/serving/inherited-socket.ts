import { unusableError } from '../terminal/exit.js';

/** Descriptors 0 to 2 are those of every program. */
const firstDescriptor = 3;

/**
 * The descriptor of a listening socket that systemd has opened for this process (sd_listen_fds(3)); undefined if it has opened none. Throws
 * CommandError for several.
 */
export function inheritedSocket(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = environment;
  if (pid !== String(process.pid) || count === undefined || count === '0') return undefined;
  if (count !== '1') {
    const problem = `systemd passes ${count} sockets, and svc listens on one.`;
    throw unusableError('configuration_invalid', problem, 'keep one ListenStream= in the socket unit');
  }
  return firstDescriptor;
}
