import { type BenchRequest, sendOnce } from './request.js';

/** Who makes what the scenarios need, and where. */
export interface Maker {
  readonly port: number;
  readonly project: string;
  /** A server key with every scope. */
  readonly key: string;
}

const atOnce = 32;

/** Sends a request that has to succeed and returns what was answered. */
export async function expectStatus(
  request: BenchRequest,
  port: number,
  status: number,
): Promise<Record<string, unknown>> {
  const response = await sendOnce(request, port);
  const text = await response.text();
  if (response.status !== status) throw new Error(`${request.method} ${request.path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** Sends a POST with the server key. */
export function make(maker: Maker, path: string, body: object, status = 201): Promise<Record<string, unknown>> {
  return expectStatus({ method: 'POST', path, headers: headersOf(maker), body }, maker.port, status);
}

/** Sends a GET with the server key. */
export function read(maker: Maker, path: string): Promise<Record<string, unknown>> {
  return expectStatus({ method: 'GET', path, headers: headersOf(maker) }, maker.port, 200);
}

/** Does the work for each number below `count`, several at a time, and returns the results in order. */
export async function forEachNumber<Result>(
  count: number,
  work: (number: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const take = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) results[number] = await work(number);
  };
  await Promise.all(Array.from({ length: atOnce }, take));
  return results;
}

const headersOf = ({ project, key }: Maker) => ({ 'X-Service-Project': project, 'X-Service-Key': key });
