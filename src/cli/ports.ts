import { once } from 'node:events';
import { createServer } from 'node:net';
import type { LoadedConfig } from '#src/platform/config/load.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';

/** How many ports after a taken one are tried. */
const maxTries = 100;

/** The settings in force, and where each comes from. */
type Settings = Pick<LoadedConfig, 'config' | 'file' | 'origins'>;

/** Whether a server can listen on a port now; 0 stands for any free one. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
    server.close();
    return true;
  } catch (error) {
    // Whatever else keeps it from listening, such as a name without an address, is said when the server starts.
    return !(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE');
  }
}

/** This port, or the first free one after it; undefined where none of the next hundred is free. */
export async function firstFreePort(host: string, port: number): Promise<number | undefined> {
  const last = Math.min(65_535, port + maxTries);
  for (let next = port; next <= last; next += 1) if (await isPortFree(host, next)) return next;
  return undefined;
}

/** How to serve on another port than the one that is taken. */
export async function otherPort(loaded: Settings): Promise<string> {
  const change = await settingsOfOtherPort(loaded);
  return change === undefined ? 'end that process' : `end that process, or ${change}`;
}

/** What chooses a port that is free: the flag where it has chosen the taken one, else settings, with an address that is right; on localhost it names the port too. Undefined where no port is free. */
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

/** Where a setting is to be changed: a value of the environment goes before one of the file. */
export function settingsPlace({ file, origins }: Settings, setting: keyof LoadedConfig['origins']): string {
  return origins[setting] === 'environment' ? 'the environment' : (file ?? 'the environment');
}
