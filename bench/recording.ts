import { forEachNumber } from './maker.js';
import { type BenchRequest, sendOnce } from './request.js';

/** An answer of the real server that the bare application repeats. */
export interface RecordedAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Asks the real server each distinct request once and keeps what came; refuses an answer with another status. */
export async function record(
  requests: readonly BenchRequest[],
  port: number,
  status: number,
): Promise<RecordedAnswer[]> {
  const distinct = new Map(requests.map((request) => [`${request.method} ${request.path}`, request]));
  const all = [...distinct.values()];
  return forEachNumber(all.length, async (number) => {
    const request = all[number] as BenchRequest;
    const response = await sendOnce(request, port);
    const body = await response.text();
    if (response.status !== status) {
      throw new Error(`${request.method} ${request.path}: status ${response.status} instead of ${status}: ${body}`);
    }
    const type = response.headers.get('content-type') ?? 'text/plain';
    return { method: request.method, path: request.path, status, type, body };
  });
}
