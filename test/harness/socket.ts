// Bytes over a connection, for what no HTTP client would send.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestAppliance } from './appliance.js';
import { Answer } from './client.js';

/** Opens a connection to a server under test. */
export async function openSocket({ origin }: TestAppliance): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {
    // A server that hangs up is what some tests wait for.
  });
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes and returns everything that comes back until the server hangs up. */
export async function exchangeBytes(target: TestAppliance, bytes: string | Buffer): Promise<string> {
  const socket = await openSocket(target);
  socket.write(bytes);
  return received(socket);
}

/** Everything a connection brings until the server hangs up. */
export async function received(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'close');
  return text;
}

/** Reads what came back as one answer. */
export function parseAnswer(text: string): Answer {
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = new Headers();
  for (const field of fields) headers.append(field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1));
  const status = Number(line.split(' ')[1] ?? 0);
  return new Answer(line, { status, headers }, body.join('\r\n\r\n'));
}

/** A request whose connection ends with its answer. */
export function requestText(method: string, path: string, headers: readonly string[] = [], body = ''): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', body];
  return lines.join('\r\n');
}
