// Counts of slow lists: what a process keeps, and what all of them keep together.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scanLimits } from '#src/contract/limits.js';
import type { Collection } from '#src/features/data/databases/index.js';
import { ScanCounts } from '#src/features/data/documents/scans/counts.js';
import { createScanLog, type Scan } from '#src/features/data/documents/scans/log.js';
import { createScanStore, listScans, type ScanRow } from '#src/features/data/documents/scans/store.js';
import { createTestClock, hour } from '../harness/clock.js';
import { startRuntime } from '../harness/platform.js';

const time = (second: number) => `2026-01-01T00:00:${String(second % 60).padStart(2, '0')}.000Z`;
const by = { projectId: null, actor: { kind: 'job', id: 'test' }, requestId: '' };

test('a process keeps a limited number of shapes; the oldest go, also when failed counts come back', () => {
  const counts = new ScanCounts();
  for (let at = 0; at < scanLimits.shapes; at++) counts.add(1, `shape ${at}`, 60.4, time(0));
  counts.add(1, 'shape 0', 99.6, time(1));
  counts.add(2, 'shape 0', 50, time(1));
  const taken = counts.take();
  assert.equal(taken.length, scanLimits.shapes);
  const find = (rows: readonly ScanRow[], collection: number, shape: string) =>
    rows.find((row) => row.collection === collection && row.shape === shape);
  assert.deepEqual(find(taken, 1, 'shape 0'), {
    ...{ collection: 1, shape: 'shape 0', lists: 2, totalMs: 160, longestMs: 100, lastAt: time(1) },
  });
  assert.equal(find(taken, 1, 'shape 1'), undefined);
  assert.deepEqual(counts.take(), []);

  counts.add(2, 'shape 0', 10, time(2));
  counts.add(3, 'shape 0', 10, time(2));
  counts.restore(taken);
  const again = counts.take();
  assert.equal(again.length, scanLimits.shapes);
  assert.deepEqual(
    [find(again, 2, 'shape 0')?.lists, find(again, 2, 'shape 0')?.longestMs, find(again, 3, 'shape 0')?.lists],
    [2, 50, 1],
  );
});

test('the database adds up the counts of all processes, and keeps a limited number of shapes per collection', async () => {
  const { runtime, another } = await startRuntime();
  await runtime.migrator.up();
  const other = await another();
  const rows = (lists: number, ms: number, at: number): ScanRow[] =>
    Array.from({ length: 100 }, (_, shape) => ({
      ...{ collection: 1 + (shape % 2), shape: `shape ${shape}`, lists, totalMs: ms, longestMs: ms, lastAt: time(at) },
    }));
  const write = async ({ db, sql }: typeof runtime, given: readonly ScanRow[]) => {
    const store = createScanStore(sql);
    await db.work(by, async (unit) => {
      await unit.run(store.merge(given));
      await unit.run(store.trim([1, 2], 40));
    });
  };
  const read = async () => {
    const { db, sql } = runtime;
    const found = await db.all(sql`select ${listScans.row} from list_scans order by shape`);
    return found.map((row) => listScans.decode(row));
  };
  const first = rows(1, 70, 1).slice(0, 80);
  await Promise.all(Array.from({ length: 6 }, (_, at) => write(at % 2 === 0 ? runtime : other, first)));
  const counted = await read();
  assert.equal(counted.length, 80);
  for (const row of counted) assert.deepEqual([row.lists, row.totalMs, row.longestMs], [6, 420, 70], row.shape);

  await write(other, rows(1, 90, 2).slice(60));
  const kept = await read();
  assert.deepEqual(
    [1, 2].map((collection) => kept.filter((row) => row.collection === collection).length),
    [40, 40],
  );
  const recent = kept.filter(({ lastAt }) => lastAt === time(2));
  assert.equal(recent.length, 40);
  assert.deepEqual(recent.filter(({ lists }) => lists === 7).length, 20);
  assert.ok(recent.every(({ longestMs }) => longestMs === 90));
});

test('the log has a limited number of scan lines an hour, whatever shapes callers make up', () => {
  const clock = createTestClock();
  const lines: unknown[] = [];
  const none = () => {};
  const log = {
    isOn: () => true,
    debug: none,
    info: none,
    error: none,
    flush: none,
    setLevel: none,
    reopen: none,
    warn: (...line: unknown[]) => lines.push(line),
  };
  const logScan = createScanLog({ log, clock });
  const collection = { number: 1, projectId: 'p', databaseId: 'd', id: 'c', attributes: [], indexes: [] };
  const scan = (at: number): Scan => ({
    shape: { where: [], orders: [] },
    text: `${at}`,
    advice: { index: null, notes: [] },
  });
  const logMany = () => {
    for (let at = 0; at < 3 * scanLimits.logLines; at++) logScan(collection as unknown as Collection, scan(at), 60);
  };
  logMany();
  logMany();
  assert.equal(lines.length, scanLimits.logLines);
  clock.advance(hour);
  logMany();
  assert.equal(lines.length, 2 * scanLimits.logLines);
});
