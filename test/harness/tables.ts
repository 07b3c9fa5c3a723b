// The tables as the stores of the features describe them.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tsImport } from 'tsx/esm/api';
import type { table } from '#src/platform/db/table.js';
import { root } from './checkout.js';

function isTable(value: unknown): value is ReturnType<typeof table<Record<string, unknown>>> {
  return typeof value === 'object' && value !== null && 'codecs' in value && 'encode' in value;
}

/** Every table that a store describes. */
export async function describedTables() {
  const features = join(root, 'src/features');
  const stores = readdirSync(features, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(store|tables)\.ts$/.test(path),
  );
  // Found by their names, so they are in no bundle.
  const load = (path: string) => tsImport(pathToFileURL(join(features, path)).href, import.meta.url);
  const modules = await Promise.all(stores.map(load));
  return modules.flatMap((module) => Object.values(module)).filter(isTable);
}
