import { Failure } from '#src/contract/errors.js';
import { auditLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries } from '../outbox/index.js';
import type { Subject } from './chain/entry.js';
import { printEntry, printHead, printHeader, printSegment } from './chain/export-file.js';
import { type AuditRow, type AuditStore, auditHeads, type EntryFilter } from './model/store.js';
import type { AuditKeys } from './sealing/keys.js';
import type { RecentEntries } from './sealing/recent.js';
import { type Sealer, signedHeadOf } from './sealing/sealer.js';
import type { LogVerdict, Verification } from './sealing/verification.js';

/** Page start before every entry. */
const beforeAll = Number.MAX_SAFE_INTEGER;

/** An entry with its remaining personal values. */
export interface AuditEntry {
  readonly row: AuditRow;
  readonly subjects: readonly Subject[];
}

/** Entries, newest first, and the start of the next page; null at the end. */
interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: number | null;
}

/** Reads, exports and verifies the audit log. A server seals new entries within a second; `seal` does it at once. */
interface Audit {
  /** Seals all waiting entries. Throws BrokenChainError if the chain cannot be continued. */
  seal(): Promise<void>;
  list(filter: EntryFilter, page: { readonly before?: number | undefined; readonly limit: number }): Promise<AuditPage>;
  /** A page of entries after a number in order, of one project or of all. */
  after(projectId: string | undefined, seq: number): Promise<{ readonly entries: AuditEntry[]; readonly seq: number }>;
  /** The number of the last sealed entry. */
  headSeq(): Promise<number>;
  /** The lines of an export. Throws Failure `general_unavailable` if the retention removes entries during the export. */
  exported(projectId: string | undefined): AsyncGenerator<string>;
  verify(notedHead?: string): Promise<LogVerdict>;
  /** Verifies the signed head, the last entries before it, and some unsealed entries. Returns a description of the first fault. */
  verifyRecent(): Promise<string | undefined>;
  /** The time when the last sealed entry was recorded. */
  lastRecorded(): Promise<Instant | undefined>;
  /** The public key that verifies an export; empty before anything is sealed. */
  publicKey(): Promise<string>;
  /** True if the log has entries of a project. The project may be deleted. */
  hasProject(projectId: string): Promise<boolean>;
}

interface AuditDeps {
  readonly store: AuditStore;
  readonly keys: AuditKeys;
  readonly sealer: Sealer;
  readonly verification: Verification;
  readonly recent: RecentEntries;
}

/** Creates the service of the audit log. */
export function createAudit(
  { db }: Pick<Runtime, 'db'>,
  { store, keys, sealer, verification, recent }: AuditDeps,
): Audit {
  const { withSubjects, pageAfter, segments } = verification;
  const head = async () => {
    const row = await db.one(store.head());
    return row === undefined ? undefined : signedHeadOf(auditHeads.decode(row));
  };
  return {
    seal: sealer.runAll,
    list: async (filter, { before = beforeAll, limit }) => {
      const rows = await db.all(store.list(filter, before, auditLimits.scanned, limit));
      const entries = await withSubjects(
        db,
        rows.map((row) => auditEntries.decode(row)),
      );
      const last = entries.at(-1)?.row.seq ?? null;
      if (entries.length === limit) return { entries, next: last };
      const end = await db.one(store.windowEnd(filter.projectId, before, auditLimits.scanned));
      return { entries, next: end === undefined ? null : Number(end.seq) };
    },
    after: async (projectId, seq) => {
      const rows = await pageAfter(db, seq);
      const own = rows.filter((row) => projectId === undefined || row.projectId === projectId);
      return { entries: await withSubjects(db, own), seq: rows.at(-1)?.seq ?? seq };
    },
    headSeq: async () => (await head())?.seq ?? 0,
    exported: async function* (projectId) {
      yield printHeader(projectId, await keys.publicTexts(db));
      const stated = await segments();
      for (const segment of stated) yield printSegment(segment);
      const signed = await head();
      let last = stated.at(-1)?.lastSeq ?? 0;
      while (signed !== undefined && last < signed.seq) {
        const rows = (await pageAfter(db, last)).filter(({ seq }) => (seq ?? 0) <= signed.seq);
        if (rows.length === 0) break;
        for (const row of rows) yield printEntry({ ...row, seq: row.seq ?? 0 }, row.hash ?? '', projectId);
        last = rows.at(-1)?.seq ?? last;
      }
      // Without this check, the file would look like a truncated log.
      if (((await segments()).at(-1)?.lastSeq ?? 0) !== (stated.at(-1)?.lastSeq ?? 0))
        throw new Failure('general_unavailable', { retryAfter: 1 });
      if (signed !== undefined && signed.seq > 0) yield printHead(signed);
    },
    verify: verification.verify,
    verifyRecent: recent.verify,
    lastRecorded: recent.lastRecorded,
    publicKey: () => keys.publicText(db),
    hasProject: async (projectId) => (await db.one(store.hasProject(projectId))) !== undefined,
  };
}
