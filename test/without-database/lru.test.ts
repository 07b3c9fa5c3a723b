// The cache that everything uses which callers can fill.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lru } from '#src/platform/cache/lru.js';

const bounds = { bytes: 1000, entries: 5, largest: 600 };

test('the last used entries stay, within bytes and entries, and each eviction is reported once', () => {
  const removed: string[] = [];
  const lru = new Lru<string>(bounds, (value) => removed.push(value));
  for (const key of ['a', 'b', 'c', 'd', 'e']) assert.equal(lru.set(key, key, 10), true);
  assert.equal(lru.get('a'), 'a');
  lru.set('f', 'f', 10);
  assert.deepEqual(removed, ['b']);
  lru.set('g', 'g', 480);
  assert.deepEqual(removed, ['b', 'c', 'd']);
  assert.ok(lru.bytes <= bounds.bytes, String(lru.bytes));
  lru.set('a', 'other', 10);
  assert.deepEqual(removed.slice(3), ['a']);
  assert.equal(lru.get('a'), 'other');
  lru.drain();
  assert.deepEqual([lru.size, lru.bytes], [0, 0]);
  assert.equal(removed.length, 8);
});

test('an entry that is too large is not kept and evicts nothing, but the old one of its key goes', () => {
  const removed: string[] = [];
  const lru = new Lru<string>(bounds, (value) => removed.push(value));
  lru.set('a', 'a', 10);
  assert.equal(lru.set('b', 'b', 601), false);
  assert.equal(lru.set('c'.repeat(300), 'c', 1), false);
  assert.deepEqual([lru.size, removed], [1, []]);
  assert.equal(lru.set('a', 'large', 601), false);
  assert.deepEqual([lru.size, lru.bytes, removed], [0, 0, ['a']]);
});
