import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const slice = 2048;

const md5 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('md5');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** The portable phpass hash of a password, with the salt and iterations of an existing hash. Yields to the event loop regularly. */
export async function phpass(password: string, setting: string): Promise<string> {
  const iterations = 2 ** alphabet.indexOf(setting.charAt(3));
  const bytes = Buffer.from(password);
  let state = md5(Buffer.from(setting.slice(4, 12)), bytes);
  for (let done = 0; done < iterations; done++) {
    if (done % slice === slice - 1) await setImmediate();
    state = md5(state, bytes);
  }
  return setting.slice(0, 12) + encode64(state);
}

/** The base64 variant of phpass: three bytes make four characters, the lowest bits first. */
function encode64(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const some = bytes.subarray(at, at + 3);
    const value = some.reduce((sum, byte, index) => sum + byte * 256 ** index, 0);
    for (let digit = 0; digit <= some.length; digit++) text += alphabet.charAt(Math.floor(value / 64 ** digit) % 64);
  }
  return text;
}
