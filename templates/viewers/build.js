// Bundles the viewers of the pages for developers: Scalar, which its package has as one file already, and GraphiQL with the editor Monaco.
// A published name contains a hash of the content, so browsers may cache the file forever. Files are stored compressed.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

// The package @scalar/api-reference installs 270 others for the same file.
const scalar = 'node_modules/@scalar/fastify-api-reference';

/** GraphiQL's style sheet contains fonts, which are as large as the rest. The pages use those of the system. */
const ownFonts = {
  name: 'own-fonts',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/graphiql\/dist\/style\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/@font-face\s*\{[^}]*\}/g, ''),
      loader: 'css',
    })),
};

const common = {
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  outdir: 'viewers',
  format: 'iife',
  target: 'es2022',
  jsx: 'automatic',
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [ownFonts],
  loader: { '.ttf': 'file' },
  assetNames: '[name]',
};

/** Writes the files and the licences of what is in them to this directory. */
export async function buildViewers(directory) {
  mkdirSync(directory);
  const published = {};
  const publish = (file, content) => {
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
    const name = `${basename(file, extname(file))}-${hash}${extname(file)}`;
    writeFileSync(join(directory, `${name}.gz`), gzipSync(content, { level: 9 }));
    published[file] = name;
  };
  const bundle = async (options) => {
    const { outputFiles, metafile } = await build({ ...common, ...options });
    // Style sheets last, because they name fonts.
    const files = outputFiles.sort((one, other) => extname(other.path).localeCompare(extname(one.path)));
    for (const { path, contents, text } of files) {
      const file = basename(path);
      publish(file, extname(file) === '.css' ? renamed(text, published) : contents);
    }
    return Object.keys(metafile.inputs);
  };

  const workers = {
    'editor-worker': 'monaco-editor/esm/vs/editor/editor.worker.js',
    'graphql-worker': 'monaco-graphql/esm/graphql.worker.js',
    'json-worker': 'monaco-editor/esm/vs/language/json/json.worker.js',
  };
  publish('scalar.js', readFileSync(join(scalar, 'dist/js/standalone.js')));
  const inputs = await bundle({ entryPoints: workers });
  const workerNames = Object.fromEntries(Object.keys(workers).map((name) => [name, published[`${name}.js`]]));
  inputs.push(
    ...(await bundle({
      entryPoints: {
        reference: 'templates/viewers/reference.js',
        graphql: 'templates/viewers/graphql.jsx',
      },
      define: { ...common.define, WORKERS: JSON.stringify(workerNames) },
    })),
  );
  writeFileSync(join(directory, 'LICENSES'), licences([scalar, ...packagesOf(inputs)]));
}

/** The style sheet with the published names of the fonts. */
function renamed(text, published) {
  return text.replace(/url\("?\.?\/?([\w-]+\.ttf)"?\)/g, (_, file) => `url(${published[file]})`);
}

/** The directories of the packages that these files belong to. */
function packagesOf(files) {
  const found = files.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]);
  return [...new Set(found.filter((directory) => directory !== undefined))].sort();
}

/** The licence texts of these packages. */
function licences(directories) {
  const texts = directories.map((directory) => {
    const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    const files = readdirSync(directory).filter((file) => /^(?:licen[cs]e|notice|thirdpartynotices)/i.test(file));
    const text = files.map((file) => readFileSync(join(directory, file), 'utf8').trim()).join('\n\n');
    return `${name} ${version} (${license})\n\n${text}`.trim();
  });
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
