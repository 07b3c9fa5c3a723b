import { invalidParam } from '#src/contract/errors.js';
import { appTypes, type PlatformType } from '#src/contract/platform.js';

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostnamePattern = new RegExp(`^(?:\\*\\.)?${label}(?:\\.${label})*$`);

/** Normalises a platform's host name: lower case, no port; `*.example.com` is allowed. Throws Failure for anything else. */
function parseHostname(text: string): string {
  const hostname = text.trim().toLowerCase();
  const isAddress = /^(\*\.)?\d+(\.\d+){3}$/.test(hostname);
  if (hostname.length <= 253 && hostnamePattern.test(hostname) && !(isAddress && hostname.includes('*')))
    return hostname;
  throw invalidParam(
    'hostname',
    'give a host name without scheme, port and path, such as app.example.com or *.example.com.',
  );
}

/** Normalises a platform's host name or an app's id. Throws Failure for anything else. */
export function parseHost(type: PlatformType, text: string): string {
  if (type === 'web') return parseHostname(text);
  const id = text.trim();
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,255}$/.test(id)) return id;
  throw invalidParam(appTypes[type].member, 'give the id under which the app is built, such as com.example.app.');
}

/** Names that a host name may be registered as: itself and its wildcards. */
export function hostnameCandidates(hostname: string): string[] {
  const labels = hostname.split('.');
  return [hostname, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)];
}
