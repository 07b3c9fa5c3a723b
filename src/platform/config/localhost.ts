/** Whether an address is on this machine, so that nobody else can be meant by it; what is no address is not. */
export function isOnLocalhost(url: string): boolean {
  return URL.canParse(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}

/** Whether an address is on this machine at another port than the one that is listened on, so that it is right behind a proxy only. Port 0 is any. */
export function isAtOtherPort(url: string, port: number): boolean {
  if (!isOnLocalhost(url)) return false;
  const { protocol, port: text } = new URL(url);
  const named = Number(text || (protocol === 'https:' ? 443 : 80));
  return named !== port && named !== 0 && port !== 0;
}
