// src/README.md against the folders: no folder is missing, and every path exists.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { code, codes, readTable } from '../harness/markdown.js';

const page = 'src/README.md';
const firstCells = (column: string) => readTable(page, column).map(([cell]) => code(cell));
const entries = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );

test('the layers on the page are the folders of src', () => {
  assert.deepEqual(
    firstCells('layer').sort(),
    entries('src')
      .filter((name) => name !== 'README.md')
      .sort(),
  );
});

test('the features on the page are the folders of the areas, in the order of their construction', () => {
  const areas = entries('src/features').filter((name) => name !== 'index.ts');
  assert.deepEqual(firstCells('area').sort(), areas.map((area) => `features/${area}`).sort());
  const existing = areas.flatMap((area) =>
    entries(`src/features/${area}`)
      .filter((name) => name !== 'index.ts')
      .map((name) => area + name),
  );
  assert.deepEqual(firstCells('feature').sort(), existing.sort());
  for (const area of areas) {
    const built = builtIn(readFileSync(join(root, `src/features/${area}index.ts`), 'utf8'));
    const ofArea = firstCells('feature').filter((name) => name?.startsWith(area));
    assert.deepEqual(
      ofArea,
      built.map((folder) => area + folder),
      area,
    );
  }
});

/** The folders that the index of an area names, in the order of the first call of a factory of each; those without factories last. */
function builtIn(index: string): string[] {
  const called = (name: string) => {
    const at = index.indexOf(` ${name}(`);
    return at === -1 ? Number.POSITIVE_INFINITY : at;
  };
  const firstCalls = new Map<string, number>();
  const named = /^(?:im|ex)port \{\s*([^}]*\bcreate\w+[^}]*)\s\} from '\.\/([\w-]+)\/index\.js'/gm;
  for (const [, names = '', folder] of index.matchAll(named)) {
    const calls = [...names.matchAll(/\bcreate\w+/g)].map(([name]) => called(name));
    firstCalls.set(`${folder}/`, Math.min(...calls, firstCalls.get(`${folder}/`) ?? Number.POSITIVE_INFINITY));
  }
  for (const [, folder] of index.matchAll(/ from '\.\/([\w-]+)\/index\.js'/g))
    if (!firstCalls.has(`${folder}/`)) firstCalls.set(`${folder}/`, Number.POSITIVE_INFINITY);
  return [...firstCalls].sort(([, a], [, b]) => a - b).map(([folder]) => folder);
}

test('every path in it exists', () => {
  const text = readFileSync(join(root, page), 'utf8');
  const named = [...new Set(codes(text).filter((one) => one.includes('/') && !one.startsWith('@')))];
  assert.ok(named.length > 10);
  for (const path of named) {
    const real = path.replace('<area>', 'identity').replace('<feature>', 'sessions');
    const places = [
      'src',
      'src/features',
      'src/features/identity',
      'src/features/data',
      'src/features/events',
      'src/features/installation',
      '.',
    ].map((folder) => join(root, folder, real));
    assert.ok(
      places.some((place) => existsSync(place)),
      path,
    );
  }
});
