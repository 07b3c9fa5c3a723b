import { existsSync, readFileSync } from 'node:fs';
import { packageFile } from './package-root.js';

/** The version of this installation, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return text;
}

/** The archive that this installation was unpacked from, and its commit if it was packed from one; undefined where it was built here. */
export function release(): { readonly archive: string; readonly commit: string | null } | undefined {
  const file = packageFile('release.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
