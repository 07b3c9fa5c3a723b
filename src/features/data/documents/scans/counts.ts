import { scanLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import type { ScanRow } from './store.js';

/** Counts slow lists in memory until they are written to the database. Drops the least recently counted shape if there are too many. */
export class ScanCounts {
  readonly #rows = new Map<string, ScanRow>();

  /** Counts a list. */
  add(collection: number, shape: string, milliseconds: number, lastAt: Instant): void {
    const ms = Math.round(milliseconds);
    this.#merge({ collection, shape, lists: 1, totalMs: ms, longestMs: ms, lastAt });
  }

  /** Removes and returns all counts. The order is the same in all processes, so that concurrent writes do not deadlock. */
  take(): readonly ScanRow[] {
    const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    this.#rows.clear();
    return rows;
  }

  /** Puts back counts that could not be written. */
  restore(rows: readonly ScanRow[]): void {
    const since = [...this.#rows.values()];
    this.#rows.clear();
    for (const row of [...rows, ...since]) this.#merge(row);
  }

  #merge(row: ScanRow): void {
    const key = `${row.collection} ${row.shape}`;
    const before = this.#rows.get(key);
    this.#rows.delete(key);
    this.#rows.set(
      key,
      before === undefined
        ? row
        : {
            ...row,
            lists: before.lists + row.lists,
            totalMs: before.totalMs + row.totalMs,
            longestMs: Math.max(before.longestMs, row.longestMs),
          },
    );
    const [first] = this.#rows.keys();
    if (this.#rows.size > scanLimits.shapes && first !== undefined) this.#rows.delete(first);
  }
}
