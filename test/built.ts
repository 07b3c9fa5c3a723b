// The test files as Node.js can run them: bundled once for the whole run, so that not every one of them asks tsx for seven hundred files.
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from './harness/checkout.js';

/** Builds test files, by their paths from the root, into a fresh folder and returns it; each keeps its path there, with the ending `.js`. */
export async function buildTests(files: readonly string[]): Promise<string> {
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  // Inside the checkout, where packages and the files that come with the product are found.
  const folder = mkdtempSync(join(cache, 'svc-test-'));
  await build({
    absWorkingDir: root,
    entryPoints: [
      ...files.map((file) => ({ in: file, out: file.replace(/\.ts$/, '') })),
      { in: 'test/harness/template.ts', out: 'test/harness/template' },
      // Images are converted in a process of its own, which is started from the file beside the code that starts it: all of that code
      // is in the folder itself, as the tests share it with the template.
      { in: 'src/platform/images/process.ts', out: 'image-process' },
    ],
    outdir: folder,
    bundle: true,
    splitting: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
  });
  return folder;
}
