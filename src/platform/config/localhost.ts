/** True if a URL refers to this machine by a loopback name or address; false for an invalid URL. */
export function isOnLocalhost(url: string): boolean {
  return URL.canParse(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}

/** True if a URL refers to this machine at a port other than `port`, which is correct only behind a proxy. Port 0 matches any port. */
export function isAtOtherPort(url: string, port: number): boolean {
  if (!isOnLocalhost(url)) return false;
  const { protocol, port: text } = new URL(url);
  const named = Number(text || (protocol === 'https:' ? 443 : 80));
  return named !== port && named !== 0 && port !== 0;
}
