import { Failure } from '#src/contract/errors.js';

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostnamePattern = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})*$`);

/** The stored form of a platform's hostname: lower case, without port; `*.example.com` allowed. Throws Failure for anything else. */
export function parseHostname(text: string): string {
  const hostname = text.trim().toLowerCase();
  const isAddress = /^(\*\.)?\d+(\.\d+){3}$/.test(hostname);
  if (hostname.length <= 253 && hostnamePattern.test(hostname) && !(isAddress && hostname.includes('*')))
    return hostname;
  throw new Failure('general_argument_invalid', {
    message:
      'Invalid `hostname` param: give a host name without scheme, port and path, such as app.example.com or *.example.com.',
  });
}

/** The names under which a hostname may be registered: itself and the wildcards above it. */
export function hostnameCandidates(hostname: string): string[] {
  const labels = hostname.split('.');
  return [hostname, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)];
}
