import type { Instant } from '#src/contract/shapes.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries } from '../../outbox/index.js';
import { digestOf, hashOf } from '../chain/entry.js';
import { isHeadGenuine } from '../chain/statement.js';
import { type AuditStore, auditHeads } from '../model/store.js';
import type { AuditKeys } from './keys.js';
import { signedHeadOf } from './sealer.js';
import type { Verification } from './verification.js';

/** Maximum number of entries checked, sealed and unsealed each. */
const looked = 1000;

interface Deps {
  readonly keys: AuditKeys;
  readonly verification: Pick<Verification, 'pageAfter' | 'withSubjects' | 'checkContent'>;
}

/** Verifies the end of the log. */
export interface RecentEntries {
  /** Describes the fault at the end of the log; undefined if there is none. */
  verify(): Promise<string | undefined>;
  /** The time when the last sealed entry was recorded. */
  lastRecorded(): Promise<Instant | undefined>;
}

/** Verifies the end of the log without reading all of it. Earlier entries need the full verification. */
export function createRecentEntries(
  { db }: Pick<Runtime, 'db'>,
  store: AuditStore,
  { keys, verification }: Deps,
): RecentEntries {
  const { pageAfter, withSubjects, checkContent } = verification;
  const headNow = async () => {
    const row = await db.one(store.head());
    return row === undefined ? undefined : signedHeadOf(auditHeads.decode(row));
  };
  /** The last entries up to the head, in order. Some may have been removed by the retention. */
  const lastBefore = async (seq: number) =>
    (await pageAfter(db, Math.max(0, seq - looked))).filter((row) => (row.seq ?? 0) <= seq);
  const linkProblem = async (): Promise<string | undefined> => {
    const head = await headNow();
    if (head === undefined) return 'The signed head is missing.';
    if (head.seq === 0) return (await keys.exist(db)) ? 'The head was set back.' : undefined;
    if (!isHeadGenuine(await keys.publicKeys(db), head)) return 'The signature of the head is wrong.';
    const rows = await lastBefore(head.seq);
    const last = rows.at(-1);
    if (last !== undefined && last.hash !== head.hash) return 'The last entry is not that of the signed head.';
    for (const [at, row] of rows.entries()) {
      const before = rows[at - 1];
      const entryDigest = digestOf({ ...row, seq: row.seq ?? 0 });
      if (hashOf(row.previousHash ?? '', entryDigest) !== row.hash) return `Entry ${row.seq} was changed.`;
      if (before !== undefined && row.previousHash !== before.hash)
        return `Entry ${row.seq} does not continue the chain.`;
    }
    return undefined;
  };
  const contentProblem = async (): Promise<string | undefined> => {
    const head = await headNow();
    const waiting = (await db.all(store.waiting(looked))).map((row) => auditEntries.decode(row));
    const rows = [...(head === undefined ? [] : await lastBefore(head.seq)), ...waiting];
    let found: string | undefined;
    const report = (_seq: number | null, problem: string) => {
      found ??= problem;
    };
    for (const entry of await withSubjects(db, rows)) checkContent(entry, { report });
    return found;
  };
  return {
    verify: async () => (await linkProblem()) ?? contentProblem(),
    lastRecorded: async () => {
      const head = await headNow();
      return head === undefined ? undefined : (await pageAfter(db, head.seq - 1)).at(0)?.at;
    },
  };
}
