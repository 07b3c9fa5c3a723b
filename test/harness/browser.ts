import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'google-chrome'];

function find(): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).flatMap((dir) => names.map((name) => join(dir, name)));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Starts the machine's Chromium with a profile of its own. Every name below `.example` leads to this machine, and certificates are not verified.
 * Where there is no Chromium the test is skipped and nothing returned, or it fails if SVC_TEST_BROWSER=required.
 */
export async function openChromium(t: TestContext): Promise<Browser | undefined> {
  const executablePath = find();
  if (executablePath === undefined) {
    const reason = `no Chromium found; put ${names.join(' or ')} into PATH to run the browser tests`;
    if (process.env.SVC_TEST_BROWSER === 'required') assert.fail(reason);
    t.skip(reason);
    return undefined;
  }
  return chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--ignore-certificate-errors'],
      '--host-resolver-rules=MAP *.example 127.0.0.1',
    ],
  });
}

/** A server of the test's own. */
type TestServer = { port: number; close(): Promise<void> };

/** Serves these contents on a free port, over https where a certificate is given. */
export async function serveSite(
  pages: Readonly<Record<string, { type: string; content: string }>>,
  certificate?: { cert: string; key: string },
): Promise<TestServer> {
  const answer: RequestListener = (request, response) => {
    const page = pages[request.url ?? ''];
    response.writeHead(page === undefined ? 404 : 200, { 'Content-Type': page?.type ?? 'text/plain' });
    response.end(page?.content ?? 'nothing here');
  };
  return listening(certificate === undefined ? createServer(answer) : createSecureServer(certificate, answer));
}

/** Takes https connections for a server that speaks http, as the proxy in front of an installation does. */
export async function serveTls(port: number, certificate: { cert: string; key: string }): Promise<TestServer> {
  const front = createTlsServer(certificate, (client) => {
    const inner = connect(port, '127.0.0.1');
    for (const end of [client, inner])
      end.on('error', () => {}).on('close', () => [client, inner].map((s) => s.destroy()));
    client.pipe(inner).pipe(client);
  });
  return listening(front);
}

async function listening(server: Server): Promise<TestServer> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => open.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
