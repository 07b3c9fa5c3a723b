import type { Runtime } from '#src/platform/index.js';
import type { OfferedProvider } from '../providers/index.js';

/** Providers with a mark in `templates/pages/marks/`, and their names as people write them. */
const marked: Readonly<Record<string, string>> = {
  google: 'Google',
  github: 'GitHub',
  microsoft: 'Microsoft',
  apple: 'Apple',
  facebook: 'Facebook',
  discord: 'Discord',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  slack: 'Slack',
  x: 'X',
  spotify: 'Spotify',
  twitch: 'Twitch',
};

/** The name of an identity provider as people write it. */
export function brandOf({ key, name }: Pick<OfferedProvider, 'key' | 'name'>): string {
  return name === key && Object.hasOwn(marked, key) ? (marked[key] ?? name) : name;
}

/** The mark of a provider as SVG; empty if there is none. */
export async function markOf(pages: Runtime['pages'], { key }: Pick<OfferedProvider, 'key'>): Promise<string> {
  return Object.hasOwn(marked, key) ? pages.fragment(`marks/${key}`, {}) : '';
}
