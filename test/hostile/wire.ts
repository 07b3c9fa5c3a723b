// Sends requests as they stand, and hands back answers as they came.
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { printHostile } from './json-text.js';
import type { Plan } from './plan.js';

/** What came back. */
export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** How many bytes the body had: a picture read as text has another length. */
  readonly size: number;
  readonly milliseconds: number;
}

/** What goes out. */
export interface Outgoing {
  readonly method: string;
  /** With its query string. */
  readonly target: string;
  /** Names and values; one that comes later replaces an earlier one of the same name. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | undefined;
  readonly chunked: boolean;
}

const patienceMs = 30_000;

/** What a plan sends, beside the headers of the caller, which those of the plan replace. */
export function outgoing(plan: Plan, callerHeaders: Readonly<Record<string, string>>): Outgoing {
  const body = plan.raw ?? (plan.body && Buffer.from(printHostile(plan.body.value), 'utf8'));
  const query = plan.query.map(([name, value]) => `${name}=${value}`).join('&');
  return {
    method: plan.method,
    target: plan.path + (query === '' ? '' : `?${query}`),
    headers: [
      ...Object.entries(callerHeaders),
      ...(body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
      ...plan.headers,
    ],
    body,
    chunked: plan.chunked,
  };
}

/** Creates a sender with connections of its own. It throws where no whole answer comes. */
export function createWire(port: number, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const once = (given: Outgoing): Promise<Received> =>
    new Promise((done, fail) => {
      const { method, target, body, chunked } = given;
      const headers: Record<string, string> = {};
      for (const [name, value] of given.headers) headers[name.toLowerCase()] = value;
      // Node would frame the body of some methods in no way at all.
      if (body !== undefined)
        headers[chunked ? 'transfer-encoding' : 'content-length'] = chunked ? 'chunked' : String(body.length);
      const started = performance.now();
      const message = request(
        { port, method, path: target, headers, agent, host: '127.0.0.1', timeout: patienceMs },
        (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('error', fail);
          answer.on('end', () => {
            const body = Buffer.concat(parts);
            done({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text: body.toString('utf8'),
              size: body.length,
              milliseconds: performance.now() - started,
            });
          });
        },
      );
      message.on('error', fail);
      message.on('timeout', () => message.destroy(new Error(`no answer in ${patienceMs / 1000} s`)));
      if (body !== undefined && chunked) {
        const middle = Math.floor(body.length / 2);
        for (const part of [body.subarray(0, middle), body.subarray(middle)]) if (part.length > 0) message.write(part);
      }
      message.end(chunked ? undefined : body);
    });
  return {
    /** A connection that was kept may close just as it is used: then once more, as browsers do. */
    send: async (given: Outgoing): Promise<Received> => {
      try {
        return await once(given);
      } catch (error) {
        if (!isBroken(error)) throw error;
        return once(given);
      }
    },
    close: () => agent.destroy(),
  };
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ECONNRESET', 'EPIPE'].includes(String(error.code));
}

/** Sends requests to a server. */
export type Wire = ReturnType<typeof createWire>;
