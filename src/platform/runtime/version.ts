import { existsSync, readFileSync } from 'node:fs';
import { packageFile } from './package-root.js';

/** The version of this installation, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));
  return text;
}

/** Origin of this installation. */
interface Origin {
  /** The archive it was unpacked from. */
  readonly archive?: string;
  /** The commit it was built from; null if that was not a repository, or one with changes. */
  readonly commit?: string | null;
}

/** The archive and the commit of this installation, if known. */
export function origin(): Origin {
  return { ...read('release.json'), ...read('dist/build.json') };
}

function read(name: string): Origin {
  const file = packageFile(name);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}
