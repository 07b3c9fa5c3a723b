import type { Clock } from '#src/platform/clock.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reads } from '#src/platform/db/unit.js';
import { Lru } from '#src/platform/lru.js';
import type { Collection } from '../../databases/index.js';

/** For how long a count is good enough to choose by. It decides how a list is found, never what is in it. */
const cacheMs = 60_000;
const cacheBounds = { bytes: 4_194_304, entries: 20_000, largest: 65_536 } as const;
/** How far the readers of a role are counted. */
export const maxCounted = 10_000;

/** How many documents a caller may see through its roles, and how many there are. */
export interface ReaderCount {
  /** About, and a document once for each role that it names; of a role with more than `maxCounted` as many as there are. */
  readonly readable: number;
  /** The last sequence that was given, so at least as many as there are. */
  readonly documents: number;
  /** The caller's roles, the one first that most documents name. */
  readonly roles: readonly string[];
  /** How many documents name that one, as far as it was counted. */
  readonly ofFirst: number;
}

/** What was counted of a role or, as the empty role, of the collection. */
interface Counted {
  readonly count: number;
  readonly at: number;
}

/** Counts what roles may read, now and then; `queryOf` counts each role up to a number, and gives the last sequence as the empty role. */
export function createReaderCounts(
  { clock }: { readonly clock: Clock },
  queryOf: (collection: Collection, roles: readonly string[], upTo: number) => Query,
) {
  const cache = new Lru<Counted>(cacheBounds);
  return async (reads: Reads, collection: Collection, roles: readonly string[]): Promise<ReaderCount> => {
    const now = clock.monotonic();
    const keyOf = (role: string) => `${collection.number} ${role}`;
    const cached = (role: string): number | undefined => {
      const found = cache.get(keyOf(role));
      return found !== undefined && now - found.at < cacheMs ? found.count : undefined;
    };
    const counts = new Map(['', ...roles].map((role) => [role, cached(role)]));
    const missing = [...counts].flatMap(([role, count]) => (count === undefined ? [role] : []));
    if (missing.length > 0) {
      for (const row of await reads.all(queryOf(collection, missing, maxCounted))) {
        const [role, count] = [String(row.role), Number(row.count)];
        counts.set(role, count);
        cache.set(keyOf(role), { count, at: now }, 32);
      }
    }
    const documents = counts.get('') ?? 0;
    let readable = 0;
    let [first, ofFirst] = ['', -1];
    for (const role of roles) {
      const count = counts.get(role) ?? 0;
      if (count > ofFirst) [first, ofFirst] = [role, count];
      // Where the counting ended, it may be all of them.
      readable += count < maxCounted ? count : Math.max(count, documents);
    }
    return { readable, documents, roles: [first, ...roles.filter((role) => role !== first)], ofFirst };
  };
}
