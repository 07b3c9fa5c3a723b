import { once } from 'node:events';
import { createServer } from 'node:net';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';

/** Number of ports to try after a taken one. */
const maxTries = 100;

/** The effective settings and their origins. */
type Settings = Pick<LoadedConfig, 'config' | 'file' | 'origins'>;

/** True if a server can listen on a port now; 0 means any free port. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
    server.close();
    return true;
  } catch (error) {
    // Other errors, such as a name without an address, are reported when the server starts.
    return !(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE');
  }
}

/** Finds this port or the next free one; undefined if the next hundred are taken. */
export async function firstFreePort(host: string, port: number): Promise<number | undefined> {
  const last = Math.min(65_535, port + maxTries);
  for (let next = port; next <= last; next += 1) if (await isPortFree(host, next)) return next;
  return undefined;
}

/** Suggests how to avoid a taken port. */
export async function otherPort(loaded: Settings): Promise<string> {
  const change = await settingsOfOtherPort(loaded);
  return change === undefined ? 'end that process' : `end that process, or ${change}`;
}

/**
 * Suggests a free port: by flag if the flag chose the taken port, otherwise by settings. On localhost the base URL changes too, because it
 * contains the port. Undefined if no port is free.
 */
export async function settingsOfOtherPort(loaded: Settings): Promise<string | undefined> {
  const { config, origins } = loaded;
  const { host, port, baseUrl } = config;
  const free = await firstFreePort(host, port + 1);
  if (free === undefined) return undefined;
  if (origins.port === 'flag') return `choose another port: --port ${free}`;
  const { protocol, hostname, pathname } = new URL(baseUrl);
  const [ofPort, ofAddress] = [settingsPlace(loaded, 'port'), settingsPlace(loaded, 'baseUrl')];
  const setting = `SVC_PORT=${free}${ofPort === ofAddress ? '' : ` in ${ofPort}`}`;
  return isOnLocalhost(baseUrl)
    ? `set ${setting} and SVC_BASE_URL=${protocol}//${hostname}:${free}${pathname} in ${ofAddress}`
    : `set SVC_PORT=${free} in ${ofPort}`;
}

/** The source that defines a setting. The environment overrides the file. */
export function settingsPlace({ file, origins }: Settings, setting: keyof LoadedConfig['origins']): string {
  return origins[setting] === 'environment' ? 'the environment' : (file ?? 'the environment');
}
