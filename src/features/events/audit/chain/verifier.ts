import { bind } from '#src/platform/runtime/bind.js';
import { type ChainEntry, digestOf, firstHash, hashOf } from './entry.js';
import { isGenuine, type PublicKeys, type SignedHead, type SignedSegment } from './statement.js';

/** An entry with its hash. An export contains only the digest of an entry of another project. */
export type Link = { readonly hash: string; readonly previousHash?: string } & (
  | ChainEntry
  | { readonly seq: number; readonly digest: string }
);

/** A fault at one place of a log. */
export interface ChainFinding {
  /** The number of the faulty entry; null if it has none. */
  readonly seq: number | null;
  readonly problem: string;
}

/** The result of a verification. */
export interface ChainVerdict {
  /** Number of entries that are unchanged. */
  readonly entries: number;
  /** The hash of the signed head. */
  readonly head: string;
  readonly seq: number;
  /** Faults in chain order. At most 1000, after which verification stops. */
  readonly findings: readonly ChainFinding[];
}

/** Number of faults after which verification stops. */
const maxFindings = 1000;

/** Reference values for a chain. */
interface VerifierOptions {
  readonly keys: PublicKeys;
  /** True if the log was ever signed. Then its head must be signed. */
  readonly isSigned: () => boolean;
  /** A hash noted elsewhere. It must be that of an entry. */
  readonly notedHead?: string | undefined;
}

/**
 * Verifies a chain in order: segments, then entries, then the head. Keeps one hash in memory. After a faulty entry, continues with
 * the hash stored in it, so that one fault does not hide later ones.
 */
export interface ChainVerifier {
  segment(segment: SignedSegment): void;
  entry(link: Link): void;
  /** Reports another fault of an entry. Only the first one per entry is kept. */
  report(seq: number | null, problem: string): void;
  isBroken(): boolean;
  /** True if the maximum number of faults is reached. */
  isFull(): boolean;
  end(head: SignedHead | undefined): ChainVerdict;
}

/** Progress of a verification. */
interface Chain extends VerifierOptions {
  next: number;
  /** The hash of the previous entry; undefined if that entry is missing. */
  hash: string | undefined;
  entries: number;
  wasNoted: boolean;
  readonly findings: ChainFinding[];
}

/** Creates a verifier of a chain, from its start or after a known entry. */
export function createChainVerifier(options: VerifierOptions, after = { seq: 0, hash: firstHash }): ChainVerifier {
  const wasNoted = options.notedHead === undefined;
  const chain: Chain = { ...options, next: after.seq + 1, hash: after.hash, entries: 0, wasNoted, findings: [] };
  return { ...bind(chain, { segment, entry, report, isFull, end }), isBroken: () => chain.findings.length > 0 };
}

function segment(chain: Chain, stated: SignedSegment): void {
  if (!isGenuine(chain.keys, stated)) report(chain, stated.firstSeq, 'The signature of the segment is wrong.');
  else if (stated.firstSeq !== chain.next || stated.previousHash !== chain.hash)
    report(chain, chain.next, 'The segment does not continue the chain.');
  advance(chain, stated.lastSeq, stated.hash);
}

const isFull = ({ findings }: Chain) => findings.length >= maxFindings;

function report(chain: Chain, seq: number | null, problem: string): void {
  const isKnown = seq !== null && chain.findings.some((finding) => finding.seq === seq);
  if (!isKnown && !isFull(chain)) chain.findings.push({ seq, problem });
}

function advance(chain: Chain, seq: number, hash: string): void {
  chain.next = seq + 1;
  chain.hash = hash;
  if (hash === chain.notedHead) chain.wasNoted = true;
}

function entry(chain: Chain, link: Link): void {
  const { seq } = link;
  if (seq < chain.next) {
    report(chain, seq, 'The entry is there twice.');
    return;
  }
  if (seq > chain.next) {
    report(chain, chain.next, missing(chain.next, seq - 1));
    chain.hash = undefined;
  }
  const problem = problemOf(link, chain.hash);
  if (problem !== undefined) report(chain, seq, problem);
  else if (!('digest' in link)) chain.entries += 1;
  advance(chain, seq, link.hash);
}

function missing(first: number, last: number): string {
  return first === last ? `Entry ${first} is missing.` : `Entries ${first} to ${last} are missing.`;
}

/** The fault of an entry after the previous hash; undefined if there is none. */
function problemOf(link: Link, previousHash: string | undefined): string | undefined {
  const before = previousHash ?? link.previousHash;
  if (link.previousHash !== undefined && link.previousHash !== before) return 'The entry does not continue the chain.';
  // An export does not contain the hash of a missing entry.
  if (before === undefined) return undefined;
  return hashOf(before, 'digest' in link ? link.digest : digestOf(link)) === link.hash
    ? undefined
    : 'The entry was changed.';
}

function end(chain: Chain, head: SignedHead | undefined): ChainVerdict {
  if (!isFull(chain)) endAt(chain, head);
  if (!chain.wasNoted)
    report(chain, chain.next, 'The noted head is not in the chain: entries were cut off or replaced.');
  return { entries: chain.entries, head: head?.hash ?? '', seq: head?.seq ?? 0, findings: chain.findings };
}

function endAt(chain: Chain, head: SignedHead | undefined): void {
  const { keys, isSigned, next, hash } = chain;
  if (head === undefined) report(chain, next, 'The signed head is missing.');
  else if (head.seq === 0 && next === 1 && head.signature === '' && !isSigned()) return;
  else if (!isGenuine(keys, head)) report(chain, null, 'The signature of the head is wrong.');
  else if (head.seq >= next) report(chain, next, missing(next, head.seq));
  else if (head.seq < next - 1) report(chain, head.seq + 1, 'The signed head does not cover this entry.');
  else if (head.hash !== hash) report(chain, head.seq, 'The hash is not that of the signed head.');
}
