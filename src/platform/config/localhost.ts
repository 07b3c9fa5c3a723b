/** Whether an address is on this machine, so that nobody else can be meant by it; what is no address is not. */
export function isOnLocalhost(url: string): boolean {
  return URL.canParse(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}
