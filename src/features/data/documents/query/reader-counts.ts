import { Lru } from '#src/platform/cache/lru.js';
import type { Query } from '#src/platform/db/query.js';
import type { Reads } from '#src/platform/db/unit.js';
import type { Clock } from '#src/platform/runtime/clock.js';
import type { Collection } from '../../databases/index.js';

/** Lifetime of a count. Counts decide how a list finds its documents, never which ones. */
const cacheMs = 60_000;
const cacheBounds = { bytes: 4_194_304, entries: 20_000, largest: 65_536 } as const;
/** Limit for counting the documents of a role. */
export const maxCounted = 10_000;

/** Estimated numbers of documents that a caller may see through its roles, and of all documents. */
export interface ReaderCount {
  /** Estimate; a document counts once for each role it names. A role with `maxCounted` documents or more counts as all documents. */
  readonly readable: number;
  /** Last assigned sequence, an upper bound. */
  readonly documents: number;
  /** The caller's roles. The role that most documents name is first. */
  readonly roles: readonly string[];
  /** The roles that no document named when they were counted. */
  readonly absent: readonly string[];
  /** Number of documents that name the first role, up to `maxCounted`. */
  readonly ofFirst: number;
}

/** Count of a role or, for the empty role, of the collection. */
interface Counted {
  readonly count: number;
  readonly at: number;
}

/** Counts the documents that roles may read. */
export type ReaderCounts = (reads: Reads, collection: Collection, roles: readonly string[]) => Promise<ReaderCount>;

/**
 * Creates the cached counts of documents that roles may read. `queryOf` counts each role up to a limit and returns the last sequence for
 * the empty role.
 */
export function createReaderCounts(
  { clock }: { readonly clock: Clock },
  queryOf: (collection: Collection, roles: readonly string[], upTo: number) => Query,
): ReaderCounts {
  const cache = new Lru<Counted>(cacheBounds);
  return async (reads, collection, roles) => {
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
      // The count stopped at its limit, so it may be all documents.
      readable += count < maxCounted ? count : Math.max(count, documents);
    }
    return {
      readable,
      documents,
      roles: [first, ...roles.filter((role) => role !== first)],
      absent: roles.filter((role) => (counts.get(role) ?? 0) === 0),
      ofFirst,
    };
  };
}
