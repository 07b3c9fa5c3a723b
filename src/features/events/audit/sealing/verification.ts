import type { Instant } from '#src/contract/shapes.js';
import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { auditEntries, auditSubjects } from '../../outbox/index.js';
import { type ChainEntry, digestOf, erasedOf, hashOf, recordedText, type Subject } from '../chain/entry.js';
import type { SignedSegment } from '../chain/statement.js';
import { type ChainVerdict, type ChainVerifier, createChainVerifier } from '../chain/verifier.js';
import { headIn } from '../model/head.js';
import { type AuditRow, type AuditStore, auditSegments } from '../model/store.js';
import type { AuditKeys } from './keys.js';

/** Entries per query, and those at the end of the log that `verifyRecent` checks. */
const page = 1000;

/** The result for the log in the database. */
export interface LogVerdict extends ChainVerdict {
  /** Number of erased personal values. */
  readonly erased: number;
  /** Number of unsealed entries. Only their HMACs and personal values were checked. */
  readonly waiting: number;
}

/** An entry with its remaining personal values. */
export interface AuditEntry {
  readonly row: AuditRow;
  readonly subjects: readonly Subject[];
}

/** A sealed entry. */
type Sealed = ChainEntry & { readonly hash: string; readonly previousHash: string };

/** Verifies the audit log. */
export interface Verification {
  /** Checks a range of entries in order. Returns the number of erased personal values. */
  checkRange(verifier: ChainVerifier, from: number, to: number): Promise<number>;
  segments(): Promise<SignedSegment[]>;
  withSubjects(reader: Reader, rows: readonly AuditRow[]): Promise<AuditEntry[]>;
  pageAfter(reader: Reader, after: number): Promise<AuditRow[]>;
  /** Verifies the whole log. Repeats a check with faults if the retention has removed entries during it. */
  verify(notedHead?: string): Promise<LogVerdict>;
  /** Verifies the signed head, the last entries before it, and some unsealed entries. Returns a description of the first fault. */
  verifyRecent(): Promise<string | undefined>;
  /** The time when the last sealed entry was recorded. */
  lastRecorded(): Promise<Instant | undefined>;
}

interface Deps extends Pick<Runtime, 'db' | 'sealing'> {
  readonly store: AuditStore;
  readonly keys: AuditKeys;
}

/** Verifies the log in the database: HMACs, personal values, chain and head. Keeps one page in memory. */
export function createAuditVerification(
  runtime: Pick<Runtime, 'db' | 'sealing'>,
  store: AuditStore,
  keys: AuditKeys,
): Verification {
  const deps: Deps = { ...runtime, store, keys };
  return bind(deps, { checkRange, segments, withSubjects, pageAfter, verify, verifyRecent, lastRecorded });
}

async function checkRange(deps: Deps, verifier: ChainVerifier, from: number, to: number): Promise<number> {
  let erased = 0;
  for await (const { link, ...entry } of between(deps, from, to)) {
    // Checks the chain first, so that missing entries are reported before a fault of this one.
    verifier.entry(link);
    erased += checkContent(deps, entry, verifier);
    if (verifier.isFull()) return erased;
  }
  return erased;
}

/** Entries after a number and up to another one, in order. */
async function* between(deps: Deps, from: number, to: number): AsyncGenerator<AuditEntry & { readonly link: Sealed }> {
  const { db, store } = deps;
  for (let last = { seq: Math.min(from + 1, Number.MAX_SAFE_INTEGER), id: '' }; ; ) {
    const found = (await db.all(store.sealedFrom(last, page))).map((row) => auditEntries.decode(row));
    const rows = found.filter(({ seq }) => (seq ?? 0) <= to);
    for (const entry of await withSubjects(deps, db, rows)) {
      const link = sealedOf(entry.row);
      last = link;
      yield { ...entry, link };
    }
    if (rows.length < page) return;
  }
}

function sealedOf(row: AuditRow): Sealed {
  return { ...row, seq: row.seq ?? 0, hash: row.hash ?? '', previousHash: row.previousHash ?? '' };
}

async function withSubjects({ store }: Deps, reader: Reader, rows: readonly AuditRow[]): Promise<AuditEntry[]> {
  const byEntry = new Map<string, Subject[]>();
  for (const found of await reader.all(store.subjects(rows.map(({ id }) => id)))) {
    const { entryId, field, value, salt } = auditSubjects.decode(found);
    byEntry.set(entryId, [...(byEntry.get(entryId) ?? []), { field, value, salt }]);
  }
  return rows.map((row) => ({ row, subjects: byEntry.get(row.id) ?? [] }));
}

/** Checks HMAC and personal values of an entry. Returns the number of erased values. */
function checkContent({ sealing }: Deps, { row, subjects }: AuditEntry, verifier: ChainVerifier): number {
  const erased = erasedOf(row.data, subjects);
  if (sealing.auditMac(recordedText(row), row.at) !== row.mac)
    verifier.report(row.seq, `The HMAC of the entry ${row.id} is wrong: it was changed or added outside of svc.`);
  else if (erased === undefined) verifier.report(row.seq, `A personal value of the entry ${row.id} was changed.`);
  return erased ?? 0;
}

async function segments({ db, store }: Deps): Promise<SignedSegment[]> {
  return (await db.all(store.segments())).map((row) => auditSegments.decode(row));
}

async function pageAfter({ store }: Deps, reader: Reader, after: number): Promise<AuditRow[]> {
  return (await reader.all(store.sealed(after, page))).map((row) => auditEntries.decode(row));
}

async function verify(deps: Deps, notedHead?: string): Promise<LogVerdict> {
  for (let last = -1; ; ) {
    const verdict = await verifyOnce(deps, notedHead);
    const stated = (await segments(deps)).at(-1)?.lastSeq ?? 0;
    if (verdict.findings.length === 0 || stated === last) return verdict;
    last = stated;
  }
}

async function verifyOnce(deps: Deps, notedHead: string | undefined): Promise<LogVerdict> {
  const { db, store, keys } = deps;
  const isSigned = await keys.exist(db);
  const verifier = createChainVerifier({ keys: await keys.publicKeys(db), isSigned: () => isSigned, notedHead });
  const mistyped = store.mistyped();
  const unreadable = mistyped === undefined ? undefined : await db.one(mistyped);
  if (unreadable !== undefined) {
    const seq = typeof unreadable.seq === 'number' ? unreadable.seq : null;
    const problem = `The entry ${unreadable.id} has a value of another type: it was changed outside of svc.`;
    // Stops: values of another type cannot be decoded.
    return { entries: 0, head: '', seq: 0, findings: [{ seq, problem }], erased: 0, waiting: 0 };
  }
  const before = await db.one(store.beforeFirst());
  if (before !== undefined) verifier.report(Number(before.seq), 'The entry has a number before the first one.');
  const stated = await segments(deps);
  for (const segment of stated) verifier.segment(segment);
  const lastStated = stated.at(-1);
  if (lastStated !== undefined) await checkStated(deps, verifier, lastStated);
  const head = await headIn(db, store.head());
  // Ignores entries sealed from here on. Entries beyond the head are a fault only if the head does not move during the check.
  const erased = await checkRange(deps, verifier, lastStated?.lastSeq ?? 0, head?.seq ?? Number.MAX_SAFE_INTEGER);
  const waiting = await checkWaiting(deps, verifier);
  const beyond =
    head === undefined ? undefined : await db.one(store.sealed(Math.min(head.seq, Number.MAX_SAFE_INTEGER), 1));
  if (beyond !== undefined && (await headIn(db, store.head()))?.seq === head?.seq)
    verifier.report(auditEntries.decode(beyond).seq, 'The signed head does not cover this entry.');
  return { ...verifier.end(head), erased, waiting };
}

/** Checks remaining entries of signed segments: not removed by the retention yet, or added later. */
async function checkStated(deps: Deps, verifier: ChainVerifier, { lastSeq, hash }: SignedSegment): Promise<void> {
  let before: Sealed | undefined;
  for await (const { link, ...entry } of between(deps, 0, lastSeq)) {
    const continues = before === undefined || before.seq + 1 !== link.seq || before.hash === link.previousHash;
    const ends = link.seq !== lastSeq || link.hash === hash;
    if (link.seq === before?.seq) verifier.report(link.seq, 'The entry is there twice.');
    else if (hashOf(link.previousHash, digestOf(link)) !== link.hash || !continues || !ends)
      verifier.report(link.seq, 'The entry was changed, or added after it was removed.');
    checkContent(deps, entry, verifier);
    before = link;
    if (verifier.isFull()) return;
  }
}

async function checkWaiting(deps: Deps, verifier: ChainVerifier): Promise<number> {
  const { db, store } = deps;
  let waiting = 0;
  for (let after = ''; ; ) {
    const rows = (await db.all(store.waiting(page, after))).map((row) => auditEntries.decode(row));
    waiting += rows.length;
    for (const entry of await withSubjects(deps, db, rows)) checkContent(deps, entry, verifier);
    after = rows.at(-1)?.id ?? after;
    if (rows.length < page) return waiting;
  }
}

async function verifyRecent(deps: Deps): Promise<string | undefined> {
  const { db, store, keys } = deps;
  const head = await headIn(db, store.head());
  const rows = head === undefined ? [] : await pageAfter(deps, db, Math.max(0, head.seq - page));
  const entries = await withSubjects(
    deps,
    db,
    rows.filter(({ seq }) => (seq ?? 0) <= (head?.seq ?? 0)),
  );
  // The retention may have removed earlier entries, or all of them.
  const [first] = entries.map(({ row }) => sealedOf(row));
  const start = first === undefined ? head : { seq: first.seq - 1, hash: first.previousHash };
  const isSigned = await keys.exist(db);
  const verifier = createChainVerifier({ keys: await keys.publicKeys(db), isSigned: () => isSigned }, start);
  for (const { row } of entries) verifier.entry(sealedOf(row));
  const waiting = (await db.all(store.waiting(page))).map((row) => auditEntries.decode(row));
  for (const entry of [...entries, ...(await withSubjects(deps, db, waiting))]) checkContent(deps, entry, verifier);
  const [found] = verifier.end(head).findings;
  return found && `${found.seq === null ? '' : `Entry ${found.seq}: `}${found.problem}`;
}

async function lastRecorded(deps: Deps): Promise<Instant | undefined> {
  const head = await headIn(deps.db, deps.store.head());
  return head === undefined ? undefined : (await pageAfter(deps, deps.db, head.seq - 1)).at(0)?.at;
}
