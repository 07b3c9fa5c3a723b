// Every result code of SQLite has its kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sqlite3 from 'sqlite3';
import { failureOf, fromSqlite } from '#src/platform/db/database-error.js';

/** Codes that a client can do nothing about: defects of ours, and a damaged file. */
const defects = ['ERROR', 'INTERNAL', 'CORRUPT', 'NOTFOUND', 'EMPTY', 'CONSTRAINT', 'MISMATCH', 'MISUSE', 'FORMAT'];

test('each code but those of defects is answered as an error that clients know', () => {
  const codes = Object.entries(sqlite3).filter(
    ([name, value]) => typeof value === 'number' && /^[A-Z]+$/.test(name) && name !== 'OK',
  );
  assert.equal(codes.length, 26);
  for (const [name] of codes) {
    const error = fromSqlite(Object.assign(new Error('message'), { code: `SQLITE_${name}` }));
    const isDefect = [...defects, 'RANGE', 'NOTADB'].includes(name);
    assert.equal(error.kind === 'other', isDefect, name);
    if (!isDefect && name !== 'TOOBIG') assert.equal(failureOf(error)?.status, 503, name);
  }
});
