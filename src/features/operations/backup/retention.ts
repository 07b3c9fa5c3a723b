import type { BackupKeep } from '#src/platform/config/backup-settings.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import type { BackupRow } from './store.js';

const dayMs = 86_400_000;
/** The Unix epoch was a Thursday; weeks begin on Monday. */
const weekOf = (at: number): string => String(Math.floor((at / dayMs + 3) / 7));
const dayOf = (at: number): string => String(Math.floor(at / dayMs));
const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** A backup in the list of those that may be removed. */
type Candidate = Pick<BackupRow, 'file' | 'createdAt' | 'verifiedAt'>;

/**
 * The backups that are too old. Days, weeks and months without a backup do not count, so that nothing is removed because none was made.
 * The newest verified one is never too old.
 */
export function tooOld<T extends Candidate>(found: readonly T[], keep: BackupKeep): T[] {
  const sorted = found.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  const verified = sorted.find(({ verifiedAt }) => verifiedAt !== null);
  const kept = new Set<T>(verified === undefined ? sorted : [verified]);
  const add = (some: readonly T[]) => {
    for (const one of some) kept.add(one);
  };
  if ('count' in keep) add(sorted.slice(0, keep.count));
  else {
    add(newestOfEach(sorted, dayOf, keep.days));
    add(newestOfEach(sorted, weekOf, keep.weeks));
    add(newestOfEach(sorted, monthOf, keep.months));
  }
  return sorted.filter((one) => !kept.has(one));
}

function newestOfEach<T extends Candidate>(sorted: readonly T[], periodOf: (at: number) => string, most: number): T[] {
  const newest = new Map<string, T>();
  for (const one of sorted) {
    const period = periodOf(millisecondsOf(one.createdAt));
    if (!newest.has(period)) newest.set(period, one);
  }
  return [...newest.values()].slice(0, most);
}
