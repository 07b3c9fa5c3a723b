import { readFile } from 'node:fs/promises';
import type { Asset } from '#src/contract/operation.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { packageFile } from '#src/platform/runtime/package-root.js';

/** Media types by extension. */
const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ttf: 'font/ttf',
};

/** The scripts, styles and fonts of the viewers, which the build writes to `dist/viewers`. */
export interface ViewerFiles {
  /** Returns the published name of a file, which contains a hash of its content. */
  nameOf(file: string): Promise<string>;
  /** Returns the file with this published name; undefined if there is none. */
  find(name: string): Promise<Asset | undefined>;
}

/** Opens the files of the viewers. The first call reads their list. */
export function createViewerFiles(): ViewerFiles {
  const directory = lazy(async () => {
    const names: Readonly<Record<string, string>> = JSON.parse(
      await readFile(packageFile('dist/viewers/files.json'), 'utf8'),
    );
    return { names: new Map(Object.entries(names)), published: new Set(Object.values(names)) };
  });
  return {
    nameOf: async (file) => {
      const name = (await directory.get()).names.get(file);
      if (name === undefined) throw new Error(`the build has no viewer file ${file}`);
      return name;
    },
    find: async (name) => {
      const type = types[name.slice(name.lastIndexOf('.') + 1)];
      if (type === undefined || !(await directory.get()).published.has(name)) return undefined;
      return { type, gzip: await readFile(packageFile(`dist/viewers/${name}.gz`)) };
    },
  };
}
