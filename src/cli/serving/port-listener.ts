import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Config } from '#src/platform/config/schema.js';
import { localUrl } from './local-url.js';

const answerMs = 2000;

/** Requests `/healthz` to find out if svc, another program or nothing listens on the configured port. */
export function listenerOn(config: Config): Promise<'svc' | 'other' | 'nobody'> {
  const url = new URL('/healthz', localUrl(config, config.port));
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((answered) => {
    // The certificate only covers the public name.
    const asked = send(url, { timeout: answerMs, agent: false, rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (text.length > 1000) asked.destroy();
      });
      response.on('end', () => answered(text === '{"status":"ok"}' ? 'svc' : 'other'));
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', (error) => answered(isRefused(error) ? 'nobody' : 'other'));
    asked.on('close', () => answered('other'));
    asked.end();
  });
}

/** If a name has two addresses, Node reports both failures in one error. */
function isRefused(error: Error): boolean {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  const codes = errors.map((one) => (one instanceof Error && 'code' in one ? one.code : undefined));
  return codes.every((code) => ['ECONNREFUSED', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(String(code)));
}
