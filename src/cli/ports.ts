import { once } from 'node:events';
import { createServer } from 'node:net';

/** How many ports after a taken one are tried. */
const maxTries = 100;

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
