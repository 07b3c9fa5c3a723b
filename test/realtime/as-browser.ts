// What the published web SDK expects of a browser, for tests in Node.js.
import { WebSocket } from 'ws';

/** Without a listener an error of a socket ends a process of Node.js; a browser goes on. */
class BrowserSocket extends WebSocket {
  constructor(...given: ConstructorParameters<typeof WebSocket>) {
    super(...given);
    this.on('error', () => {});
  }
}

/** Gives this process the globals that the SDK uses. */
export function actAsBrowser(): void {
  const storage = new Map<string, string>();
  const localStorage = {
    getItem: (name: string) => storage.get(name) ?? null,
    setItem: (name: string, value: string) => void storage.set(name, value),
  };
  // Its heartbeat goes on for as long as the page is there, which here is the process.
  const beat = (...given: Parameters<typeof setInterval>) => setInterval(...given).unref();
  Object.assign(globalThis, {
    WebSocket: BrowserSocket,
    window: { setTimeout, setInterval: beat, clearInterval, localStorage, console },
  });
}
