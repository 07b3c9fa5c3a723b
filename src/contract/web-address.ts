/** True if an address equals another one, or is below it in its path. */
export function isBelow(address: URL, above: URL): boolean {
  const path = above.pathname.replace(/\/$/, '');
  return address.origin === above.origin && (address.pathname === path || address.pathname.startsWith(`${path}/`));
}

/** An address below the base URL of the service; empty query values are left out. */
export function addressBelow(baseUrl: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return new URL(`${baseUrl.replace(/\/$/, '')}/${path}${search}`);
}
