// src/README.md against the folders: no room is missing, and no path in it leads nowhere.
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

test('the floors are what stands in src', () => {
  assert.deepEqual(
    firstCells('floor').sort(),
    entries('src')
      .filter((name) => name !== 'README.md')
      .sort(),
  );
});

test('the features are what stands in the wings, in the order in which each wing is built', () => {
  const wings = entries('src/features').filter((name) => name !== 'index.ts');
  assert.deepEqual(firstCells('wing').sort(), wings.map((wing) => `features/${wing}`).sort());
  const standing = wings.flatMap((wing) =>
    entries(`src/features/${wing}`)
      .filter((name) => name !== 'index.ts')
      .map((name) => wing + name),
  );
  assert.deepEqual(firstCells('feature').sort(), standing.sort());
  for (const wing of wings) {
    const built = builtIn(readFileSync(join(root, `src/features/${wing}index.ts`), 'utf8'));
    const ofWing = firstCells('feature').filter((name) => name?.startsWith(wing));
    assert.deepEqual(
      ofWing,
      built.map((folder) => wing + folder),
      wing,
    );
  }
});

/** The folders whose factories the door of a wing calls, in the order of the calls. One that is built in several steps stands where its first step stands. */
function builtIn(door: string): string[] {
  const called = (name: string) => {
    const at = door.indexOf(` ${name}(`);
    return at === -1 ? Number.POSITIVE_INFINITY : at;
  };
  const firstCalls = new Map<string, number>();
  const named = /^(?:im|ex)port \{\s*([^}]*\bcreate\w+[^}]*)\s\} from '\.\/([\w-]+)\/index\.js'/gm;
  for (const [, names = '', folder] of door.matchAll(named)) {
    const calls = [...names.matchAll(/\bcreate\w+/g)].map(([name]) => called(name));
    firstCalls.set(`${folder}/`, Math.min(...calls, firstCalls.get(`${folder}/`) ?? Number.POSITIVE_INFINITY));
  }
  return [...firstCalls].sort(([, a], [, b]) => a - b).map(([folder]) => folder);
}

test('every path in it exists', () => {
  const text = readFileSync(join(root, page), 'utf8');
  const named = [...new Set(codes(text).filter((one) => one.includes('/') && !one.startsWith('@')))];
  assert.ok(named.length > 10);
  for (const path of named) {
    const real = path.replace('<wing>', 'identity').replace('<feature>', 'sessions');
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
