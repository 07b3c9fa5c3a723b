import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deliveryHeaders } from '#src/contract/headers.js';
import { type HeaderCheck, type ReceivedDelivery, verifyDelivery } from '#src/features/index.js';
import { createEgress } from '#src/platform/egress.js';
import { createMetrics } from '#src/platform/metrics.js';

/** A request that the listener has received, and how it answered. */
export interface ReceivedRequest {
  readonly receivedAt: string;
  readonly event: string;
  readonly eventId: string;
  /** What was checked; empty without a secret, and where the request has no signature. */
  readonly checks: readonly HeaderCheck[];
  /** The status that the sender got. */
  readonly status: number;
  /** What was wrong with the request or the application behind; empty where nothing was. */
  readonly error: string;
}

interface ListenerOptions {
  readonly port: number;
  readonly secret: string | undefined;
  /** Where deliveries are sent on to. */
  readonly forwardTo: string | undefined;
  onRequest(delivery: ReceivedRequest): void;
}

/** Largest body that is read, in bytes: larger than any event of ours. */
const maxBytes = 33_554_432;
/** How far the timestamp of a delivery may be off, as Standard Webhooks advises, in seconds. */
export const defaultToleranceSeconds = 300;
const timestampHeader = 'webhook-timestamp';
const forwardMs = 15_000;
const forwardedBytes = 1_048_576;

/**
 * Receives webhooks on the loopback address: checks their signatures, hands them on, and answers as the application behind does, or 204.
 * A delivery whose signature is wrong is answered 401 and not handed on.
 */
export async function listenForWebhooks(
  options: ListenerOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const egress = createEgress({ allow: [], allowInsecure: true }, createMetrics());
  const forward = async (request: IncomingMessage, body: Buffer): Promise<{ status: number; body: Buffer }> => {
    if (options.forwardTo === undefined) return { status: 204, body: Buffer.alloc(0) };
    return egress.request({
      method: 'POST',
      url: options.forwardTo,
      headers: forwardedHeaders(request),
      body,
      purpose: 'webhook-forward',
      timeoutMs: forwardMs,
      maxBytes: forwardedBytes,
    });
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const checks = body === undefined ? [] : checksOf(request, body, options.secret);
    const refused = refusalOf(request, body, checks, options.secret !== undefined);
    const outcome = refused ?? (await forwarded(() => forward(request, body ?? Buffer.alloc(0))));
    response.writeHead(outcome.status, { connection: 'close' });
    response.end('body' in outcome ? outcome.body : undefined);
    const { status, error } = outcome;
    options.onRequest({ receivedAt: new Date().toISOString(), ...namesOf(request, body), checks, status, error });
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await egress.close();
    },
  };
}

/** Why a request is not handed on, and the status that says so. */
function refusalOf(
  { method, headers }: IncomingMessage,
  body: Buffer | undefined,
  checks: readonly HeaderCheck[],
  mustBeSigned: boolean,
): { status: number; error: string } | undefined {
  // Pages of browsers say where they come from; senders of webhooks are no pages.
  if (headers.origin !== undefined) return { status: 403, error: `a page of ${headers.origin} has sent it` };
  if (method !== 'POST') return { status: 405, error: `the method is ${method}, not POST` };
  if (body === undefined) return { status: 413, error: `the body has more than ${maxBytes} bytes` };
  if (mustBeSigned && checks.length === 0) return { status: 401, error: 'the request has no signature' };
  const wrong = checks.filter(({ ok }) => !ok);
  const signatures = checks.filter(({ header }) => header !== timestampHeader);
  // While a secret is rotated only one of the two signatures fits the old one, and a receiver needs one.
  const isSigned = signatures.some(({ ok }) => ok) && !wrong.some(({ header }) => header === timestampHeader);
  if (isSigned || !mustBeSigned) return undefined;
  return { status: 401, error: wrong.map(({ header, reason }) => `${header} ${reason}`).join('; ') };
}

async function forwarded(
  call: () => Promise<{ status: number; body: Buffer }>,
): Promise<{ status: number; error: string; body?: Buffer }> {
  try {
    return { ...(await call()), error: '' };
  } catch (error) {
    return {
      status: 502,
      error: `the application could not be reached: ${error instanceof Error ? error.message : ''}`,
    };
  }
}

/** The body, or undefined where it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
  }
  return size <= maxBytes ? Buffer.concat(chunks) : undefined;
}

/** What a receiver sees of a delivery. */
function deliveryOf({ headers }: IncomingMessage, body: Buffer): ReceivedDelivery {
  const one = (name: string) => (typeof headers[name] === 'string' ? headers[name] : undefined);
  return {
    body,
    signature: one(deliveryHeaders.signature.toLowerCase()),
    id: one('webhook-id'),
    timestamp: one('webhook-timestamp'),
    standardSignature: one('webhook-signature'),
  };
}

function checksOf(request: IncomingMessage, body: Buffer, secret: string | undefined): HeaderCheck[] {
  if (secret === undefined) return [];
  const at = { now: Date.now() / 1000, toleranceSeconds: defaultToleranceSeconds };
  return verifyDelivery(secret, deliveryOf(request, body), at);
}

/** The event that a request is about: from the headers, or as other senders have it, from the body. */
function namesOf({ headers }: IncomingMessage, body: Buffer | undefined): { event: string; eventId: string } {
  const type = /^\{(?:"[a-z]+":"[^"]*",)*"type":"([\w.]+)"/.exec(body?.subarray(0, 1024).toString() ?? '')?.[1];
  return {
    event: String(headers[deliveryHeaders.event.toLowerCase()] ?? type ?? ''),
    eventId: String(headers['webhook-id'] ?? ''),
  };
}

const ownToHops = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'expect',
  'upgrade',
  'te',
];

function forwardedHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !ownToHops.includes(name) ? [[name, value]] : [],
    ),
  );
}
