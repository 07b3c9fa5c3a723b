import type { RefusedLine } from '../document-records/refused-lines.js';

/** RecordOutcome of a record. */
export type RecordOutcome = 'created' | 'changed' | 'skipped';

/** The counts of one kind of records. */
export interface KindCounts {
  readonly kind: string;
  read: number;
  created: number;
  changed: number;
  skipped: number;
  failed: number;
}

/** Counts records by kind and outcome, and reports those that failed. */
export interface KindTally {
  /** The counts so far, in the order of the first record of each kind. */
  kinds(): readonly KindCounts[];
  add(kind: string, outcome: RecordOutcome): void;
  fail(kind: string, id: string, type: string, message: string): Promise<void>;
}

/** Creates a tally. `report` receives the failed records. */
export function createKindTally(report: (refused: RefusedLine) => Promise<void>): KindTally {
  const byKind = new Map<string, KindCounts>();
  const of = (kind: string): KindCounts => {
    const counts = byKind.get(kind) ?? { kind, read: 0, created: 0, changed: 0, skipped: 0, failed: 0 };
    byKind.set(kind, counts);
    counts.read += 1;
    return counts;
  };
  return {
    kinds: () => [...byKind.values()],
    add: (kind, outcome) => {
      of(kind)[outcome] += 1;
    },
    fail: async (kind, id, type, message) => {
      of(kind).failed += 1;
      await report({ kind, id, type, message });
    },
  };
}
