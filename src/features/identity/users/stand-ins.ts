import type { Project } from '#src/contract/project.js';
import { Lru } from '#src/platform/cache/lru.js';
import { keyedDigest } from '#src/platform/crypto/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { sealedPasswords, type UserStore } from './store.js';

/** A sample hash of one kind and the number of hashes of that kind. */
interface Share {
  readonly hash: string;
  readonly count: number;
}

/** The kinds of hashes in a project, sampled at one time. */
interface Sample {
  /** End of validity in milliseconds of the monotonic clock; shorter for small projects. */
  until: number;
  readonly shares: Promise<readonly Share[]>;
}

/** Sampling a project of a million users occupies one read connection for less than a second. */
const sampleMs = 10 * 60_000;
/** In a small project each new password changes the distribution, and sampling is cheap. */
const few = { users: 100, sampleMs: 2000 } as const;
const bounds = { bytes: 4_194_304, entries: 1000, largest: 16_384 } as const;
/** Estimated size of a cached sample. */
const sampleBytes = 2048;

/**
 * Chooses the decoy hash that a password is verified against if the address has none. It is the hash of a user of the project: always the
 * same kind for an address, and each kind as often as among the users. So the duration of a login does not reveal which accounts exist,
 * even if hashes have other parameters or come from other products, and unknown addresses cost as much as known ones on average. Kinds that
 * fewer than one in 256 users have may be missing.
 */
export function createStandIns(
  { db, clock, hashing, sealing }: Pick<Runtime, 'db' | 'clock' | 'hashing' | 'sealing'>,
  store: UserStore,
) {
  const key = sealing.derive('password-stand-ins');
  const samples = new Lru<Sample>(bounds);
  const take = async (project: Project): Promise<readonly Share[]> => {
    const counts = new Map<string, Share>();
    for (const row of await db.all(store.someHashes({ projectId: project.id }))) {
      const place = { column: sealedPasswords, row: String(row.id) };
      const hash = sealing.tryOpen(project.id, project.dataKey, place, String(row.password_hash));
      if (hash === undefined) continue;
      const kind = hashing.kindOf(hash);
      const { count, ...first } = counts.get(kind) ?? { hash, count: 0 };
      counts.set(kind, { ...first, count: count + 1 });
    }
    // Sorted by kind, so that an address keeps its kind from one sample to the next.
    return [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, share]) => share);
  };
  const sampleOf = (project: Project): Promise<readonly Share[]> => {
    const before = samples.get(project.id);
    const now = clock.monotonic();
    if (before !== undefined && now < before.until) return before.shares;
    // Cached even if the database fails, so that not every login queries it again.
    const shares = take(project).catch(() => before?.shares ?? []);
    const sample: Sample = { until: now + sampleMs, shares };
    samples.set(project.id, sample, sampleBytes);
    void shares.then((found) => {
      if (usersOf(found) < few.users) sample.until = Math.min(sample.until, clock.monotonic() + few.sampleMs);
    });
    return shares;
  };
  return {
    /** The decoy hash for an address; null if no user has a password. */
    of: async (project: Project, email: string): Promise<string | null> => {
      const shares = await sampleOf(project);
      const total = usersOf(shares);
      const place =
        Buffer.from(keyedDigest(key(), [project.id, email].join('\n')), 'base64url').readUInt32BE() / 2 ** 32;
      let before = place * total;
      for (const { hash, count } of shares) {
        before -= count;
        if (before < 0) return hash;
      }
      return null;
    },
  };
}

const usersOf = (shares: readonly Share[]): number => shares.reduce((sum, { count }) => sum + count, 0);
