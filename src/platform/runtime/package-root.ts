import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Absolute path of a file of the package, given its path from the package root. Works from the sources and from the build. */
export function packageFile(path: string): string {
  let directory = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', directory))) directory = new URL('..', directory);
  return fileURLToPath(new URL(path, directory));
}
