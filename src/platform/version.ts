import { readFileSync } from 'node:fs';
import { packageFile } from './package-root.js';

/** The version of this installation, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return text;
}
