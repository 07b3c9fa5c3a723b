// `npm ci` refuses a lockfile that leaves out the binaries of another platform, and npm leaves out what its registry does not offer.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';

type Package = { resolved?: string; optionalDependencies?: Record<string, string> };

const lock: { packages: Record<string, Package> } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

test('every optional package has its entry, for every platform', () => {
  const wanted = Object.entries(lock.packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {}).map((name) => ({ path, name })),
  );
  assert.ok(wanted.length > 0);
  const absent = wanted.filter(
    ({ path, name }) => !lock.packages[`node_modules/${name}`] && !lock.packages[`${path}/node_modules/${name}`],
  );
  assert.deepEqual(absent, []);
});

test('the lockfile requires no particular registry', () => {
  assert.deepEqual(
    Object.entries(lock.packages).filter(([, { resolved }]) => resolved !== undefined),
    [],
  );
});
