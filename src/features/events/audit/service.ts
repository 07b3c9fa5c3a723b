import { Failure } from '#src/contract/errors.js';
import { auditLimits } from '#src/contract/limits.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries } from '../outbox/index.js';
import { printEntry, printHead, printHeader, printSegment } from './chain/export-file.js';
import { headIn } from './model/head.js';
import type { AuditStore, EntryFilter } from './model/store.js';
import type { AuditKeys } from './sealing/keys.js';
import type { Sealer } from './sealing/sealer.js';
import type { AuditEntry, Verification } from './sealing/verification.js';

/** Page start before every entry. */
const beforeAll = Number.MAX_SAFE_INTEGER;

/** Entries, newest first, and the start of the next page; null at the end. */
interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: number | null;
}

/** Reads, exports and verifies the audit log. A server seals new entries within a second; `seal` does it at once. */
interface Audit extends Pick<Verification, 'verify' | 'verifyRecent' | 'lastRecorded'> {
  /** Seals all waiting entries. Throws BrokenChainError if the chain cannot be continued. */
  seal(): Promise<void>;
  list(filter: EntryFilter, page: { readonly before?: number | undefined; readonly limit: number }): Promise<AuditPage>;
  /** A page of entries after a number in order, of one project or of all. */
  after(projectId: string | undefined, seq: number): Promise<{ readonly entries: AuditEntry[]; readonly seq: number }>;
  /** The number of the last sealed entry. */
  headSeq(): Promise<number>;
  /** The lines of an export. Throws Failure `general_unavailable` if the retention removes entries during the export. */
  exported(projectId: string | undefined): AsyncGenerator<string>;
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
}

/** Creates the service of the audit log. */
export function createAudit({ db }: Pick<Runtime, 'db'>, { store, keys, sealer, verification }: AuditDeps): Audit {
  const { withSubjects, pageAfter, segments, verify, verifyRecent, lastRecorded } = verification;
  const head = () => headIn(db, store.head());
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
    verify,
    verifyRecent,
    lastRecorded,
    publicKey: () => keys.publicText(db),
    hasProject: async (projectId) => (await db.one(store.hasProject(projectId))) !== undefined,
  };
}
