import type { Project } from '#src/contract/project.js';
import { keyedDigest } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { Lru } from '#src/platform/lru.js';
import { sealedPasswords, type UserStore } from '../store.js';

/** A hash of one kind, and how many of its kind there are. */
interface Share {
  readonly hash: string;
  readonly count: number;
}

/** The kinds of hashes that a project had at some time. */
interface Sample {
  /** On the monotonic clock; that of a small project is soon taken again. */
  until: number;
  readonly shares: Promise<readonly Share[]>;
}

/** With a million users a sample takes one reader less than a second. */
const sampleMs = 10 * 60_000;
/** Where few users have passwords, each changes the shares, and a sample takes a moment. */
const few = { users: 100, sampleMs: 2000 } as const;
const bounds = { bytes: 4_194_304, entries: 1000, largest: 16_384 } as const;
/** Estimate of what a sample takes. */
const sampleBytes = 2048;

/**
 * Chooses what the password of an address without one is checked against: a hash that a user of the project has, of the same kind each time,
 * and of each kind for as many addresses as users have it. So the time of a login tells nobody who has an account, also where hashes were made
 * with other parameters or by other products, and unknown addresses cost as much as known ones on average. A kind that fewer than one in 256
 * users have may be missing.
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
    // In an order of their own, so that an address keeps its kind from one sample to the next.
    return [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, share]) => share);
  };
  const sampleOf = (project: Project): Promise<readonly Share[]> => {
    const before = samples.get(project.id);
    const now = clock.monotonic();
    if (before !== undefined && now < before.until) return before.shares;
    // A database that cannot say is not asked again at each login.
    const shares = take(project).catch(() => before?.shares ?? []);
    const sample: Sample = { until: now + sampleMs, shares };
    samples.set(project.id, sample, sampleBytes);
    void shares.then((found) => {
      if (usersOf(found) < few.users) sample.until = Math.min(sample.until, clock.monotonic() + few.sampleMs);
    });
    return shares;
  };
  return {
    /** The hash for an address; null where no user has a password. */
    of: async (project: Project, email: string): Promise<string | null> => {
      const shares = await sampleOf(project);
      const total = usersOf(shares);
      const place = Buffer.from(keyedDigest(key, [project.id, email].join('\n')), 'base64url').readUInt32BE() / 2 ** 32;
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
