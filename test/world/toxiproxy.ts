// Disturbs connections of the server with Toxiproxy, through its HTTP API.
import { freePort } from '../harness/free-port.js';
import { startServer } from './world.js';

const program = process.env.SVC_TEST_TOXIPROXY ?? 'toxiproxy-server';

/** The program that runs. */
export const toxiproxyProgram = program;

/** A way to a server that can be disturbed. */
export interface DisturbedWay {
  readonly port: number;
  /** Delays every byte in both directions. */
  delay(ms: number): Promise<void>;
  /** Resets some of the open connections once. */
  reset(share: number): Promise<void>;
  /** Closes all connections and accepts none until `mend`. */
  cut(): Promise<void>;
  /** Ends every disturbance. */
  mend(): Promise<void>;
}

/** Starts Toxiproxy until the end of the test file. */
export async function startToxiproxy() {
  const api = `http://127.0.0.1:${await freePort()}`;
  await startServer(program, ['-host', '127.0.0.1', '-port', new URL(api).port], `${api}/version`);
  const call = async (method: string, path: string, body?: object) => {
    // It refuses browsers, by their User-Agent.
    const headers = { 'User-Agent': 'test', 'Content-Type': 'application/json' };
    const response = await fetch(`${api}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`Toxiproxy answers ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    /** Opens a way to a port of this machine. */
    to: async (name: string, upstream: number): Promise<DisturbedWay> => {
      const port = await freePort();
      const own = `/proxies/${name}`;
      await call('POST', '/proxies', { name, listen: `127.0.0.1:${port}`, upstream: `127.0.0.1:${upstream}` });
      const add = (type: string, stream: string, toxicity: number, attributes: object) =>
        call('POST', `${own}/toxics`, { name: `${type}-${stream}`, type, stream, toxicity, attributes });
      return {
        port,
        delay: async (ms) => {
          for (const stream of ['upstream', 'downstream']) await add('latency', stream, 1, { latency: ms / 2 });
        },
        reset: async (share) => {
          await add('reset_peer', 'downstream', share, { timeout: 0 });
          await call('DELETE', `${own}/toxics/reset_peer-downstream`);
        },
        cut: () => call('POST', own, { enabled: false }),
        mend: async () => {
          await call('POST', own, { enabled: true });
          const toxics = (await call('GET', `${own}/toxics`)) as { name: string }[];
          for (const { name: toxic } of toxics) await call('DELETE', `${own}/toxics/${toxic}`);
        },
      };
    },
  };
}
