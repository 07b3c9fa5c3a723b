import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageFile } from '#src/platform/runtime/package-root.js';

/** The root of the repository. */
export const root = packageFile('');

/** A copy of parts of the repository that a test may spoil. */
type Copy = { dir: string; dispose(): void };

/** Copies files and folders of the repository into a fresh directory; the installed packages are linked, not copied. */
export function copyCheckout(paths: readonly string[]): Copy {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), 'svc-copy-')));
  // One level down, so that a test can lay packages of its own beside the copy, where resolution looks last.
  const dir = join(parent, 'copy');
  for (const path of paths.filter((one) => existsSync(join(root, one)))) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    cpSync(join(root, path), join(dir, path), { recursive: true, preserveTimestamps: true });
  }
  symlinkSync(realpathSync(join(root, 'node_modules')), join(dir, 'node_modules'));
  return { dir, dispose: () => rmSync(parent, { recursive: true, force: true }) };
}
