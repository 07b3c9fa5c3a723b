import { type ChainEntry, digestOf, firstHash, hashOf } from './entry.js';
import { isHeadGenuine, isSegmentGenuine, type PublicKeys, type SignedHead, type SignedSegment } from './statement.js';

/** An entry with its hash; one of another project in an export has its digest only. */
export type Link = { readonly hash: string; readonly previousHash?: string } & (
  | ChainEntry
  | { readonly seq: number; readonly digest: string }
);

/** What is wrong with a log at one place. */
export interface Finding {
  /** The number of the bad entry; null where it has none. */
  readonly seq: number | null;
  readonly problem: string;
}

/** What was found of a chain. */
export interface Verdict {
  /** Entries that are as they were recorded. */
  readonly entries: number;
  /** The hash of the signed head. */
  readonly head: string;
  readonly seq: number;
  /** What is wrong, the first place in the chain first; at most 1000, after which the rest is not looked at. */
  readonly findings: readonly Finding[];
}

/** Findings after which a verification ends. */
const maxFindings = 1000;

/** What a chain is compared with. */
interface VerifierOptions {
  readonly keys: PublicKeys;
  /** Whether the log was ever signed: its head has to be, then. */
  readonly isSigned: () => boolean;
  /** A hash noted elsewhere, which has to be that of an entry. */
  readonly notedHead?: string | undefined;
}

/**
 * Follows a chain from its beginning: segments first, then entries, then the head. It holds one hash at a time. Behind a bad entry it goes on with
 * what that entry says of itself, so that a known one hides no later one.
 */
export interface ChainVerifier {
  segment(segment: SignedSegment): void;
  entry(link: Link): void;
  /** Something else is wrong with an entry. Of one entry the first finding stays. */
  report(seq: number | null, problem: string): void;
  isBroken(): boolean;
  /** Whether enough was found. */
  isFull(): boolean;
  end(head: SignedHead | undefined): Verdict;
}

/** Creates a verifier of a chain. */
export function createChainVerifier({ keys, isSigned, notedHead }: VerifierOptions): ChainVerifier {
  let next = 1;
  /** Of the entry before the next one; undefined where that one is missing. */
  let hash: string | undefined = firstHash;
  let entries = 0;
  let wasNoted = notedHead === undefined;
  const findings: Finding[] = [];
  const isFull = () => findings.length >= maxFindings;
  const report = (seq: number | null, problem: string) => {
    const isKnown = seq !== null && findings.some((finding) => finding.seq === seq);
    if (!isKnown && !isFull()) findings.push({ seq, problem });
  };
  const advance = (seq: number, to: string) => {
    next = seq + 1;
    hash = to;
    if (to === notedHead) wasNoted = true;
  };
  const endAt = (head: SignedHead | undefined): void => {
    if (head === undefined) report(next, 'The signed head is missing.');
    else if (head.seq === 0 && next === 1 && head.signature === '' && !isSigned()) return;
    else if (!isHeadGenuine(keys, head)) report(null, 'The signature of the head is wrong.');
    else if (head.seq >= next) report(next, missing(next, head.seq));
    else if (head.seq < next - 1) report(head.seq + 1, 'The signed head does not cover this entry.');
    else if (head.hash !== hash) report(head.seq, 'The hash is not that of the signed head.');
  };
  /** What is wrong with an entry where it stands; undefined where nothing is. */
  const problemOf = (link: Link): string | undefined => {
    const before = hash ?? link.previousHash;
    if (link.previousHash !== undefined && link.previousHash !== before)
      return 'The entry does not continue the chain.';
    // An export does not have the hash of an entry that is missing.
    if (before === undefined) return undefined;
    return hashOf(before, 'digest' in link ? link.digest : digestOf(link)) === link.hash
      ? undefined
      : 'The entry was changed.';
  };
  return {
    segment: (segment) => {
      if (!isSegmentGenuine(keys, segment)) report(segment.firstSeq, 'The signature of the segment is wrong.');
      else if (segment.firstSeq !== next || segment.previousHash !== hash)
        report(next, 'The segment does not continue the chain.');
      advance(segment.lastSeq, segment.hash);
    },
    entry: (link) => {
      const { seq } = link;
      if (seq < next) {
        report(seq, 'The entry is there twice.');
        return;
      }
      if (seq > next) {
        report(next, missing(next, seq - 1));
        hash = undefined;
      }
      const problem = problemOf(link);
      if (problem !== undefined) report(seq, problem);
      else if (!('digest' in link)) entries += 1;
      advance(seq, link.hash);
    },
    report,
    isBroken: () => findings.length > 0,
    isFull,
    end: (head) => {
      if (!isFull()) endAt(head);
      if (!wasNoted) report(next, 'The noted head is not in the chain: entries were cut off or replaced.');
      return { entries, head: head?.hash ?? '', seq: head?.seq ?? 0, findings };
    },
  };
}

function missing(first: number, last: number): string {
  return first === last ? `Entry ${first} is missing.` : `Entries ${first} to ${last} are missing.`;
}
