// The test files as Node.js can run them: bundled once for the whole run, so that no process has to transpile seven hundred files.
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { externalPackages, knexBundle } from '../external-packages.js';
import { root } from './harness/checkout.js';

/** Test files that run in one process, one after another. */
export type TestGroup = readonly string[];

/** Packages for tests that every file loads, and which are bundled like those of the product. */
const inEveryFile = ['ajv', 'ajv-formats'];

/** Path of a group in the folder of the build, without `.js`. The runner sorts files by name, so the name begins with the group's turn. */
export function builtPath(group: TestGroup, turn: number): string {
  return `${String(turn).padStart(4, '0')}/${String(group[0]).replace(/\.ts$/, '')}`;
}

/** Builds groups of test files, by their paths from the root and in the order in which they start, into a fresh folder and returns it. */
export async function buildTests(groups: readonly TestGroup[]): Promise<string> {
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  // Inside the checkout, where packages and the files that come with the product are found.
  const folder = mkdtempSync(join(cache, 'svc-test-'));
  await build({
    absWorkingDir: root,
    entryPoints: [
      ...groups.map((group, turn) => ({ in: `group:${turn}`, out: builtPath(group, turn) })),
      { in: 'test/harness/template.ts', out: 'test/harness/template' },
      { in: 'test/harness/command-host.ts', out: 'command-host' },
      // Images are converted in a process, and SAML responses verified in a thread, which start from the file beside the code that starts them: all of that code
      // is in the folder itself, as the tests share it with the template.
      { in: 'src/platform/images/process.ts', out: 'image-process' },
      { in: 'src/features/identity/login/saml/protocol/verifier-thread.ts', out: 'saml-thread' },
    ],
    plugins: [
      {
        name: 'groups',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^group:/ }, ({ path }) => ({ path, namespace: 'group' }));
          onLoad({ filter: /.*/, namespace: 'group' }, ({ path }) => ({
            contents: entryOf(groups[Number(path.slice('group:'.length))] ?? []),
            resolveDir: root,
          }));
        },
      },
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

function entryOf(group: TestGroup): string {
  const files = group.map((file) => `runFile('${file}', () => import('./${file}'));`);
  return ["import { runFile } from './test/times.ts';", ...files].join('\n');
}

/** They stay outside: some ask for files beside their own, and few tests load them. */
function packagesForTests(): string[] {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.keys(devDependencies).filter((name) => !inEveryFile.includes(name));
}
