/** Whether an address is another one's, or stands below it in its path. */
export function isBelow(address: URL, above: URL): boolean {
  const path = above.pathname.replace(/\/$/, '');
  return address.origin === above.origin && (address.pathname === path || address.pathname.startsWith(`${path}/`));
}
