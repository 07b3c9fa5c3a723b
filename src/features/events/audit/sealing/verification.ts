import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { auditEntries, auditSubjects } from '../../outbox/index.js';
import { type ChainEntry, digestOf, erasedOf, hashOf, recordedText, type Subject } from '../chain/entry.js';
import type { SignedSegment } from '../chain/statement.js';
import { type ChainVerifier, createChainVerifier, type Verdict } from '../chain/verifier.js';
import { type AuditRow, type AuditStore, auditHeads, auditSegments } from '../store.js';
import type { AuditKeys } from './keys.js';
import { signedHeadOf } from './sealer.js';

/** Entries that are read at a time. */
const page = 1000;

/** A verdict on the log in the database. */
export interface LogVerdict extends Verdict {
  /** Personal values that were erased. */
  readonly erased: number;
  /** Entries that are not sealed yet; their HMACs were checked. */
  readonly waiting: number;
}

/** An entry with the personal values that are left of it. */
interface EntryWithSubjects {
  readonly row: AuditRow;
  readonly subjects: readonly Subject[];
}

/** An entry as the chain has it. */
type Sealed = ChainEntry & { readonly hash: string; readonly previousHash: string };

/** Verifies the log in the database: HMACs, personal values, chain and head. A page of it is in memory at a time. */
export function createVerification(
  { db, sealing }: Pick<Runtime, 'db' | 'sealing'>,
  store: AuditStore,
  keys: AuditKeys,
) {
  const withSubjects = async (reader: Reader, rows: readonly AuditRow[]): Promise<EntryWithSubjects[]> => {
    const byEntry = new Map<string, Subject[]>();
    for (const found of await reader.all(store.subjects(rows.map(({ id }) => id)))) {
      const { entryId, field, value, salt } = auditSubjects.decode(found);
      byEntry.set(entryId, [...(byEntry.get(entryId) ?? []), { field, value, salt }]);
    }
    return rows.map((row) => ({ row, subjects: byEntry.get(row.id) ?? [] }));
  };
  const pageAfter = async (reader: Reader, after: number): Promise<AuditRow[]> =>
    (await reader.all(store.sealed(after, page))).map((row) => auditEntries.decode(row));
  const segments = async (): Promise<SignedSegment[]> =>
    (await db.all(store.segments())).map((row) => auditSegments.decode(row));

  /** Returns how many personal values of an entry are gone. */
  const checkContent = ({ row, subjects }: EntryWithSubjects, verifier: Pick<ChainVerifier, 'report'>): number => {
    const erased = erasedOf(row.data, subjects);
    if (sealing.auditMac(recordedText(row)) !== row.mac)
      verifier.report(row.seq, `The HMAC of the entry ${row.id} is wrong: it was changed or added outside of svc.`);
    else if (erased === undefined) verifier.report(row.seq, `A personal value of the entry ${row.id} was changed.`);
    return erased ?? 0;
  };
  /** Entries after a number, up to another one, in order. */
  async function* between(from: number, to: number): AsyncGenerator<EntryWithSubjects & { readonly link: Sealed }> {
    for (let last = { seq: Math.min(from + 1, Number.MAX_SAFE_INTEGER), id: '' }; ; ) {
      const found = (await db.all(store.sealedFrom(last, page))).map((row) => auditEntries.decode(row));
      const rows = found.filter(({ seq }) => (seq ?? 0) <= to);
      for (const entry of await withSubjects(db, rows)) {
        const { row } = entry;
        last = { seq: row.seq ?? 0, id: row.id };
        yield { ...entry, link: { ...row, seq: last.seq, hash: row.hash ?? '', previousHash: row.previousHash ?? '' } };
      }
      if (rows.length < page) return;
    }
  }
  /** Checks entries up to a number in order; returns how many personal values are erased. */
  const checkRange = async (verifier: ChainVerifier, from: number, to: number): Promise<number> => {
    let erased = 0;
    for await (const { link, ...entry } of between(from, to)) {
      // What stands before in the chain is judged first.
      verifier.entry(link);
      erased += checkContent(entry, verifier);
      if (verifier.isFull()) return erased;
    }
    return erased;
  };
  /** Checks what is there of entries that a statement speaks of: the retention has not removed them yet, or somebody has added them. */
  const checkStated = async (verifier: ChainVerifier, { lastSeq, hash }: SignedSegment): Promise<void> => {
    let before: Sealed | undefined;
    for await (const { link, ...entry } of between(0, lastSeq)) {
      const continues = before === undefined || before.seq + 1 !== link.seq || before.hash === link.previousHash;
      const ends = link.seq !== lastSeq || link.hash === hash;
      if (link.seq === before?.seq) verifier.report(link.seq, 'The entry is there twice.');
      else if (hashOf(link.previousHash, digestOf(link)) !== link.hash || !continues || !ends)
        verifier.report(link.seq, 'The entry was changed, or added after it was removed.');
      checkContent(entry, verifier);
      before = link;
      if (verifier.isFull()) return;
    }
  };
  const checkWaiting = async (verifier: ChainVerifier): Promise<number> => {
    let waiting = 0;
    for (let after = ''; ; ) {
      const rows = (await db.all(store.waiting(page, after))).map((row) => auditEntries.decode(row));
      waiting += rows.length;
      for (const entry of await withSubjects(db, rows)) checkContent(entry, verifier);
      after = rows.at(-1)?.id ?? after;
      if (rows.length < page) return waiting;
    }
  };
  const once = async (notedHead: string | undefined): Promise<LogVerdict> => {
    const isSigned = await keys.exist(db);
    const verifier = createChainVerifier({ keys: await keys.publicKeys(db), isSigned: () => isSigned, notedHead });
    const mistyped = store.mistyped();
    const unreadable = mistyped === undefined ? undefined : await db.one(mistyped);
    if (unreadable !== undefined) {
      const seq = typeof unreadable.seq === 'number' ? unreadable.seq : null;
      const problem = `The entry ${unreadable.id} has a value of another type: it was changed outside of svc.`;
      // What is stored in another form cannot be read on.
      return { entries: 0, head: '', seq: 0, findings: [{ seq, problem }], erased: 0, waiting: 0 };
    }
    const before = await db.one(store.beforeFirst());
    if (before !== undefined) verifier.report(Number(before.seq), 'The entry has a number before the first one.');
    const stated = await segments();
    for (const segment of stated) verifier.segment(segment);
    const lastStated = stated.at(-1);
    if (lastStated !== undefined) await checkStated(verifier, lastStated);
    const found = await db.one(store.head());
    const head = found === undefined ? undefined : signedHeadOf(auditHeads.decode(found));
    // What is sealed from here on is not looked at; entries beyond a head that does not move are bad.
    const erased = await checkRange(verifier, lastStated?.lastSeq ?? 0, head?.seq ?? Number.MAX_SAFE_INTEGER);
    const waiting = await checkWaiting(verifier);
    const beyond =
      head === undefined ? undefined : await db.one(store.sealed(Math.min(head.seq, Number.MAX_SAFE_INTEGER), 1));
    const now = await db.one(store.head());
    if (beyond !== undefined && now !== undefined && auditHeads.decode(now).seq === head?.seq)
      verifier.report(auditEntries.decode(beyond).seq, 'The signed head does not cover this entry.');
    return { ...verifier.end(head), erased, waiting };
  };

  return {
    checkRange,
    segments,
    checkContent,
    withSubjects,
    pageAfter,
    /** Verifies everything; what is removed by the retention meanwhile is no finding. */
    verify: async (notedHead?: string): Promise<LogVerdict> => {
      for (let last = -1; ; ) {
        const verdict = await once(notedHead);
        const stated = (await segments()).at(-1)?.lastSeq ?? 0;
        if (verdict.findings.length === 0 || stated === last) return verdict;
        last = stated;
      }
    },
  };
}

/** Verifies the audit log. */
export type Verification = ReturnType<typeof createVerification>;
