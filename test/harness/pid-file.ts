// The process id that a file holds.
import { readFileSync } from 'node:fs';

/** Throws for a file that holds anything else: as a number, an empty text is 0, and a signal to 0 goes to the tests themselves. */
export function pidIn(path: string): number {
  const text = readFileSync(path, 'utf8');
  if (!/^[1-9]\d*\n?$/.test(text)) throw new Error(`no process id in ${path}: ${JSON.stringify(text)}`);
  return Number(text);
}
