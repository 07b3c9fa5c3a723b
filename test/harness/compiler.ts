// The compiler of TypeScript, for programs that a reader could have written.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { root } from './checkout.js';

/** A directory for programs and what they import, and what `tsc --strict` says of some of them, a line for each problem. */
export function createCompiler() {
  // Below the checkout, so that the packages are found.
  const directory = mkdtempSync(join(root, 'node_modules/.typed-'));
  const write = (name: string, text: string): string => {
    const file = join(directory, name);
    writeFileSync(file, text);
    return file;
  };
  return {
    write,
    problemsOf: (programs: Readonly<Record<string, string>>): string[] => {
      const files = Object.entries(programs).map(([name, program]) => write(`${name}.ts`, program));
      const compiled = ts.createProgram(files, {
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        target: ts.ScriptTarget.ES2022,
        types: [],
      });
      return ts
        .getPreEmitDiagnostics(compiled)
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    },
    dispose: () => rmSync(directory, { recursive: true, force: true }),
  };
}
