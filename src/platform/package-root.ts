import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file that comes with the product, by its path from the root of the package; the root is found from the sources and from the build. */
export function packageFile(path: string): string {
  let directory = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', directory))) directory = new URL('..', directory);
  return fileURLToPath(new URL(path, directory));
}
