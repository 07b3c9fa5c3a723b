import { readdir, readFile } from 'node:fs/promises';
import type { Asset } from '#src/contract/asset.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { packageFile } from '#src/platform/runtime/package-root.js';

/** Media types by extension. */
const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ttf: 'font/ttf',
};

/** The scripts, styles and fonts of the viewers, which the build writes to `dist/viewers`. */
interface ViewerFiles {
  /** Returns the published name of a file, which contains a hash of its content. */
  nameOf(file: string): Promise<string>;
  /** Returns the file with this published name; undefined if there is none. */
  find(name: string): Promise<Asset | undefined>;
}

/** Opens the files of the viewers. The first call lists them. */
export function createViewerFiles(): ViewerFiles {
  const directory = lazy(async () => {
    const files = await readdir(packageFile('dist/viewers'));
    const published = files.filter((file) => file.endsWith('.gz')).map((file) => file.slice(0, -'.gz'.length));
    return new Map(published.map((name) => [name.replace(/-[0-9a-f]{12}(?=\.)/, ''), name]));
  });
  return {
    nameOf: async (file) => {
      const name = (await directory.get()).get(file);
      if (name === undefined) throw new Error(`the build has no viewer file ${file}`);
      return name;
    },
    find: async (name) => {
      const type = types[name.slice(name.lastIndexOf('.') + 1)];
      if (type === undefined || ![...(await directory.get()).values()].includes(name)) return undefined;
      return { type, gzip: await readFile(packageFile(`dist/viewers/${name}.gz`)) };
    },
  };
}
