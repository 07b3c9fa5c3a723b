/** A request as the scenarios describe it. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Path and query, as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The request as the bytes that go over the wire, one latin1 character per byte. */
export function toWire(request: BenchRequest, port: number): string {
  const body = request.body === undefined ? '' : Buffer.from(JSON.stringify(request.body)).toString('latin1');
  const lines = [`${request.method} ${request.path} HTTP/1.1`, `Host: localhost:${port}`];
  for (const [name, value] of Object.entries(request.headers)) lines.push(`${name}: ${value}`);
  if (request.body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${body.length}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Sends the request once; for setting up and recording, not for measuring. */
export async function sendOnce(request: BenchRequest, port: number): Promise<Response> {
  const headers = new Headers({ ...request.headers });
  if (request.body === undefined) return fetch(url(request, port), { method: request.method, headers });
  headers.set('Content-Type', 'application/json');
  return fetch(url(request, port), { method: request.method, headers, body: JSON.stringify(request.body) });
}

function url(request: BenchRequest, port: number): string {
  return `http://127.0.0.1:${port}${request.path}`;
}
