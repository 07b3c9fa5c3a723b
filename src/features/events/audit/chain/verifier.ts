import { type ChainEntry, digestOf, firstHash, hashOf } from './entry.js';
import { isHeadGenuine, isSegmentGenuine, type PublicKeys, type SignedHead, type SignedSegment } from './statement.js';

/** An entry with its hash; one of another project in an export has its digest only. */
export type Link = { readonly hash: string; readonly previousHash?: string } & (
  | ChainEntry
  | { readonly seq: number; readonly digest: string }
);

/** What is wrong with a log, and where it begins. */
export interface Finding {
  /** The number of the first bad entry; null where it has none. */
  readonly seq: number | null;
  readonly problem: string;
}

/** What was found of a chain. */
export interface Verdict {
  readonly entries: number;
  /** The hash of the signed head. */
  readonly head: string;
  readonly seq: number;
  readonly finding: Finding | undefined;
}

/** What a chain is compared with. */
interface VerifierOptions {
  readonly keys: PublicKeys;
  /** Whether the log was ever signed: its head has to be, then. */
  readonly isSigned: () => boolean;
  /** A hash noted elsewhere, which has to be that of an entry. */
  readonly notedHead?: string | undefined;
}

/** Follows a chain from its beginning: segments first, then entries, then the head. It holds one hash at a time. */
export interface ChainVerifier {
  segment(segment: SignedSegment): void;
  entry(link: Link): void;
  /** Something else is wrong with an entry. The first finding stays. */
  report(seq: number | null, problem: string): void;
  isBroken(): boolean;
  end(head: SignedHead | undefined): Verdict;
}

/** Creates a verifier of a chain. */
export function createChainVerifier({ keys, isSigned, notedHead }: VerifierOptions): ChainVerifier {
  let next = 1;
  let hash = firstHash;
  let entries = 0;
  let wasNoted = notedHead === undefined;
  let finding: Finding | undefined;
  const report = (seq: number | null, problem: string) => {
    finding ??= { seq, problem };
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
  return {
    segment: (segment) => {
      if (finding !== undefined) return;
      if (!isSegmentGenuine(keys, segment)) report(segment.firstSeq, 'The signature of the segment is wrong.');
      else if (segment.firstSeq !== next || segment.previousHash !== hash)
        report(next, 'The segment does not continue the chain.');
      else advance(segment.lastSeq, segment.hash);
    },
    entry: (link) => {
      if (finding !== undefined) return;
      const { seq } = link;
      if (seq > next) report(next, missing(next, seq - 1));
      else if (seq < next) report(seq, 'The entry is there twice.');
      else if (link.previousHash !== undefined && link.previousHash !== hash)
        report(seq, 'The entry does not continue the chain.');
      else if (hashOf(hash, 'digest' in link ? link.digest : digestOf(link)) !== link.hash)
        report(seq, 'The entry was changed.');
      else {
        advance(seq, link.hash);
        if (!('digest' in link)) entries += 1;
      }
    },
    report,
    isBroken: () => finding !== undefined,
    end: (head) => {
      if (finding === undefined) endAt(head);
      if (!wasNoted) report(next, 'The noted head is not in the chain: entries were cut off or replaced.');
      return { entries, head: head?.hash ?? '', seq: head?.seq ?? 0, finding };
    },
  };
}

function missing(first: number, last: number): string {
  return first === last ? `Entry ${first} is missing.` : `Entries ${first} to ${last} are missing.`;
}
