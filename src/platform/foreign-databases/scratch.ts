import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import { openSqliteFile } from './sqlite.js';

/** Texts by key in a temporary file, for lookups that would need too much memory. */
export interface Scratch {
  add(entries: readonly (readonly [key: string, value: string])[]): Promise<void>;
  /** Values by key, oldest first. */
  valuesOf(keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  close(): Promise<void>;
}

/** Creates an empty one. */
export async function openScratch(): Promise<Scratch> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-import-'));
  const { all, close } = await openSqliteFile(
    join(directory, 'scratch.db'),
    sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE,
  );
  await all('PRAGMA journal_mode = OFF');
  await all('PRAGMA synchronous = OFF');
  await all('CREATE TABLE entries (k TEXT NOT NULL, v TEXT NOT NULL)');
  await all('CREATE INDEX by_key ON entries (k)');
  return {
    add: async (entries) => {
      if (entries.length === 0) return;
      await all(`INSERT INTO entries VALUES ${entries.map(() => '(?, ?)').join(', ')}`, entries.flat());
    },
    valuesOf: async (keys) => {
      const rows = await all(
        `SELECT k, v FROM entries WHERE k IN (${keys.map(() => '?').join(', ')}) ORDER BY rowid`,
        keys,
      );
      const found = new Map<string, string[]>();
      for (const { k, v } of rows) found.set(String(k), [...(found.get(String(k)) ?? []), String(v)]);
      return found;
    },
    close: async () => {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
