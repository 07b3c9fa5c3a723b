import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The project's root. */
export const projectRoot = fileURLToPath(new URL('..', import.meta.url));

/** The processes that run beside the servers, as plain JavaScript: a loader would count as start-up time and memory. */
export interface Programs {
  readonly bare: string;
  readonly bareFiles: string;
  readonly load: string;
  readonly hashRate: string;
  readonly receiver: string;
  readonly sender: string;
}

const bare = new URL('./bare.ts', import.meta.url);
const bareFiles = new URL('./bare-files.ts', import.meta.url);
const load = new URL('./load.ts', import.meta.url);
const hashRate = new URL('./hash-rate.ts', import.meta.url);
const receiver = new URL('./receiver.ts', import.meta.url);
const sender = new URL('./sender.ts', import.meta.url);
const shared = ['./connection.ts', './process-tree.ts', './statistics.ts'].map(
  (path) => new URL(path, import.meta.url),
);

/** Compiles the side processes into a directory from which the project's dependencies resolve. */
export function compilePrograms(directory: string): Programs {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}\n');
  symlinkSync(join(projectRoot, 'node_modules'), join(directory, 'node_modules'));
  const compiled = (source: URL): string => {
    const target = join(directory, basename(source.pathname).replace(/\.ts$/, '.js'));
    writeFileSync(target, compile(readFileSync(source, 'utf8')));
    return target;
  };
  shared.forEach(compiled);
  return {
    bare: compiled(bare),
    bareFiles: compiled(bareFiles),
    load: compiled(load),
    hashRate: compiled(hashRate),
    receiver: compiled(receiver),
    sender: compiled(sender),
  };
}

function compile(source: string): string {
  return ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  }).outputText;
}
