// The test files as Node.js can run them: bundled once for the whole run, so that not every one of them asks tsx for seven hundred files.
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { externalPackages, knexBundle } from '../external-packages.js';
import { root } from './harness/checkout.js';

/** Packages for tests that every file loads, and which are bundled like those of the product. */
const inEveryFile = ['ajv', 'ajv-formats'];

/** Where a test file stands in the folder of the build. The runner sorts the files by name, so the name begins with the place in the order. */
export function builtPath(file: string, at: number): string {
  return `${String(at).padStart(4, '0')}/${file.replace(/\.ts$/, '')}`;
}

/** Builds test files, by their paths from the root and in the order in which they are to start, into a fresh folder and returns it. */
export async function buildTests(files: readonly string[]): Promise<string> {
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  // Inside the checkout, where packages and the files that come with the product are found.
  const folder = mkdtempSync(join(cache, 'svc-test-'));
  await build({
    absWorkingDir: root,
    entryPoints: [
      ...files.map((file, at) => ({ in: file, out: builtPath(file, at) })),
      { in: 'test/harness/template.ts', out: 'test/harness/template' },
      // Images are converted in a process of its own, which is started from the file beside the code that starts it: all of that code
      // is in the folder itself, as the tests share it with the template.
      { in: 'src/platform/images/process.ts', out: 'image-process' },
    ],
    outdir: folder,
    bundle: true,
    splitting: true,
    external: [...externalPackages, ...packagesForTests(), 'pg-native'],
    // Packages in CommonJS ask for Node's own modules by require().
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  });
  await build({ ...knexBundle, absWorkingDir: root, outfile: join(folder, 'node_modules/knex/index.js') });
  return folder;
}

/** They stay outside: some ask for files beside their own, and few tests load them. */
function packagesForTests(): string[] {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.keys(devDependencies).filter((name) => !inEveryFile.includes(name));
}
