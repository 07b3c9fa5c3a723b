import type { Unsupported } from './source.js';

/** Collects parts that are not imported, and counts equal entries. */
export interface UnsupportedList {
  add(kind: string, reason: string, count?: number): void;
  /** Adds parts that could not be counted. */
  addUncounted(kind: string, reason: string): void;
  all(): readonly Unsupported[];
}

/** Creates an empty list. */
export function createUnsupportedList(): UnsupportedList {
  const entries = new Map<string, Unsupported>();
  return {
    add: (kind, reason, count = 1) => {
      if (count === 0) return;
      const key = JSON.stringify([kind, reason]);
      entries.set(key, { kind, reason, count: (entries.get(key)?.count ?? 0) + count });
    },
    addUncounted: (kind, reason) => void entries.set(String(entries.size), { kind, reason, count: 0 }),
    all: () => [...entries.values()],
  };
}
