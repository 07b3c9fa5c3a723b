// Bundles src/cli/main.ts with its packages into dist/: a start then reads a dozen files instead of seven hundred, which halves it.
// What is loaded at its first use stays a file of its own. Types are checked by `npm run typecheck`, not here.
// It is built beside dist/ and put in its place when it is whole: the commands of this checkout go on working meanwhile.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { externalPackages, knexBundle } from './external-packages.js';
import { buildViewers } from './templates/viewers/build.js';

const [fresh, old] = [`dist.${process.pid}`, `dist.${process.pid}.old`];
process.on('exit', () => {
  for (const directory of [fresh, old]) rmSync(directory, { recursive: true, force: true });
});
/** Zod brings its messages in 64 languages, and none but English is ever used; they would take a tenth of a start. */
const oneLanguage = {
  name: 'one-language',
  setup: ({ onLoad }) => onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: '', loader: 'js' })),
};

await build({
  // Images are converted in a process of its own, and SAML responses are verified in a thread of their own.
  entryPoints: {
    main: 'src/cli/main.ts',
    'image-process': 'src/platform/images/process.ts',
    'saml-thread': 'src/features/identity/login/saml/protocol/verifier-thread.ts',
  },
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: 'linked',
  sourcesContent: false,
  // pg-native is asked for by pg, and nobody has it.
  external: [...externalPackages, 'pg-native'],
  // Packages in CommonJS ask for Node's own modules by require().
  plugins: [oneLanguage],
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
});

await build({ ...knexBundle, outfile: `${fresh}/node_modules/knex/index.js` });

await buildViewers(`${fresh}/viewers`);

// The font of drawn pictures, with its licence; its package has 35 others.
for (const [file, copy] of [
  ['500Medium/Inter_500Medium.ttf', 'initials.ttf'],
  ['LICENSE_FONT', 'initials.LICENSE'],
])
  copyFileSync(`node_modules/@expo-google-fonts/inter/${file}`, `${fresh}/${copy}`);

// What `svc version` prints.
writeFileSync(`${fresh}/build.json`, `${JSON.stringify({ commit: commitOf() })}\n`);

if (existsSync('dist')) renameSync('dist', old);
renameSync(fresh, 'dist');

/** The commit that is built, or null where there is no repository or it has changes. */
function commitOf() {
  try {
    const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    // Not that of a repository around an unpacked copy.
    if (!existsSync('.git')) return null;
    return git('status', '--porcelain', '--untracked-files=no') === '' ? git('rev-parse', 'HEAD').trim() : null;
  } catch {
    return null;
  }
}
