import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Config } from '#src/platform/config/schema.js';
import { localUrl } from './local-url.js';

const answerMs = 2000;

/** Requests a path of the server on this machine. Returns the status and the beginning of the body. Throws if nothing answers in time. */
export function requestLocally(
  config: Config,
  path: string,
  maxCharacters = Number.POSITIVE_INFINITY,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const url = new URL(path, localUrl(config, config.port));
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    // The certificate only covers the public name.
    const asked = send(url, { timeout: answerMs, agent: false, rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (text.length > maxCharacters) asked.destroy();
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
      response.on('error', reject);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', reject);
    asked.on('close', () => reject(new Error('The connection was closed.')));
    asked.end();
  });
}
