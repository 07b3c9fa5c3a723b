import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deliveryHeaders } from '#src/contract/headers.js';
import { type HeaderCheck, type ReceivedDelivery, verifyDelivery } from '#src/features/index.js';
import { createEgress } from '#src/platform/outbound/egress.js';
import { createMetrics } from '#src/platform/runtime/metrics.js';

/** A received request and its response. */
export interface ReceivedRequest {
  readonly receivedAt: string;
  readonly event: string;
  readonly eventId: string;
  /** Results of the checks; empty without a secret, or if the request has no signature. */
  readonly checks: readonly HeaderCheck[];
  /** The status returned to the sender. */
  readonly status: number;
  /** Problem with the request or the forwarding target; empty if there is none. */
  readonly error: string;
}

interface ListenerOptions {
  readonly port: number;
  readonly secret: string | undefined;
  /** URL to forward deliveries to. */
  readonly forwardTo: string | undefined;
  onRequest(delivery: ReceivedRequest): void;
}

/** Maximum body size in bytes, larger than any event of svc. */
const maxBytes = 33_554_432;
/** Tolerance for the timestamp of a delivery in seconds, as recommended by Standard Webhooks. */
export const defaultToleranceSeconds = 300;
const timestampHeader = 'webhook-timestamp';
const forwardMs = 15_000;
const forwardedBytes = 1_048_576;

/**
 * Receives webhooks on the loopback address, checks their signatures and forwards them. Returns the response of the target application, or
 * 204. Answers 401 to a delivery with a wrong signature and does not forward it.
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

/** Explains why a request is not forwarded, with the response status. */
function refusalOf(
  { method, headers }: IncomingMessage,
  body: Buffer | undefined,
  checks: readonly HeaderCheck[],
  mustBeSigned: boolean,
): { status: number; error: string } | undefined {
  // Browsers send `Origin`; senders of webhooks are not web pages.
  if (headers.origin !== undefined) return { status: 403, error: `a page of ${headers.origin} has sent it` };
  if (method !== 'POST') return { status: 405, error: `the method is ${method}, not POST` };
  if (body === undefined) return { status: 413, error: `the body has more than ${maxBytes} bytes` };
  if (mustBeSigned && checks.length === 0) return { status: 401, error: 'the request has no signature' };
  const wrong = checks.filter(({ ok }) => !ok);
  const signatures = checks.filter(({ header }) => header !== timestampHeader);
  // During a rotation only one of two signatures matches the old secret. One valid signature is enough.
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

/** Reads the body; undefined if it is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
  }
  return size <= maxBytes ? Buffer.concat(chunks) : undefined;
}

/** The parts of a delivery that are verified. */
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

/** The event of a request: from the headers or, for other senders, from the body. */
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
