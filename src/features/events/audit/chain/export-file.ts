import { z } from 'zod';
import { type ChainEntry, digestOf } from './entry.js';
import { publicKeyOf, type SignedHead, type SignedSegment } from './statement.js';
import { type ChainFinding, type ChainVerdict, createChainVerifier, type Link } from './verifier.js';

/** The name and version of the format, in the first line of an export. */
const format = 'svc-audit';
const version = 1;

const count = z.int().min(0);
const headerLine = z.strictObject({
  format: z.literal(format),
  version: z.literal(version),
  projectId: z.string().nullable(),
  /** Public keys (Ed25519) by their ids. */
  keys: z.record(z.string(), z.string()),
});
const signed = { at: z.string(), keyId: z.string(), signature: z.string() };
const segmentLine = z.strictObject({
  segment: z.strictObject({ firstSeq: count, lastSeq: count, previousHash: z.string(), hash: z.string(), ...signed }),
});
const headLine = z.strictObject({ head: z.strictObject({ seq: count, hash: z.string(), ...signed }) });
const entryLine = z.strictObject({
  seq: count,
  id: z.string(),
  projectId: z.string().nullable(),
  at: z.string(),
  actorKind: z.string(),
  actorId: z.string(),
  action: z.string(),
  resource: z.string(),
  requestId: z.string(),
  data: z.string(),
  mac: z.string(),
  hash: z.string(),
});
const foreignLine = z.strictObject({ seq: count, digest: z.string(), hash: z.string() });
const bodyLine = z.union([entryLine, foreignLine, segmentLine, headLine]);

/** The first line of an export of one project or of the whole log. */
export function printHeader(projectId: string | undefined, keys: Readonly<Record<string, string>>): string {
  return JSON.stringify({ format, version, projectId: projectId ?? null, keys });
}

/** The line of a segment of removed entries. */
export function printSegment(segment: SignedSegment): string {
  return JSON.stringify({ segment });
}

/** The last line of an export. */
export function printHead(head: SignedHead): string {
  return JSON.stringify({ head });
}

/** The line of an entry. For an entry of another project only the digest, which reveals nothing but continues the chain. */
export function printEntry(entry: ChainEntry, hash: string, projectId: string | undefined): string {
  if (projectId !== undefined && entry.projectId !== projectId)
    return JSON.stringify({ seq: entry.seq, digest: digestOf(entry), hash });
  return JSON.stringify({ ...entry, hash }, Object.keys(entryLine.shape));
}

/** Reference values for an export. */
interface ExportChecks {
  /** The public key of the installation, known from elsewhere. Without it, the key in the export is trusted. */
  readonly publicKey?: string | undefined;
  readonly notedHead?: string | undefined;
}

/** The result for an export. */
interface ExportVerdict extends ChainVerdict {
  /** True if the first line is that of an export. */
  readonly isExport: boolean;
  readonly projectId: string | null;
  readonly publicKey: string;
}

const unreadable = (line: number): ChainFinding => ({ seq: null, problem: `Line ${line} is not a line of an export.` });

/** Verifies an export line by line: chain, segments and signed head. Needs no database and no secret. Does not check HMACs. */
export async function verifyExport(lines: AsyncIterable<string>, checks: ExportChecks): Promise<ExportVerdict> {
  let header: z.output<typeof headerLine> | undefined;
  let head: SignedHead | undefined;
  let line = 0;
  const trusted = (id: string) => {
    const text = header?.keys[id];
    const isTrusted = text !== undefined && (checks.publicKey === undefined || checks.publicKey === text);
    return isTrusted ? publicKeyOf(text) : undefined;
  };
  const isSigned = () => Object.keys(header?.keys ?? {}).length > 0;
  const verifier = createChainVerifier({ keys: trusted, isSigned, notedHead: checks.notedHead });
  for await (const text of lines) {
    line += 1;
    if (header === undefined) {
      header = parseLine(headerLine, text);
      if (header === undefined)
        return {
          ...verifier.end(undefined),
          isExport: false,
          projectId: null,
          publicKey: '',
          findings: [unreadable(line)],
        };
      continue;
    }
    const parsed = parseLine(bodyLine, text);
    if (parsed === undefined || head !== undefined) verifier.report(null, unreadable(line).problem);
    else if ('segment' in parsed) verifier.segment(parsed.segment);
    else if ('head' in parsed) head = parsed.head;
    else if ('digest' in parsed && header.projectId === null)
      verifier.report(parsed.seq, 'An export of the whole log has the entry itself, not its digest only.');
    // Rejects other orders of members and duplicate members: other programs might parse them differently.
    else if (JSON.stringify(parsed) !== text) verifier.report(parsed.seq, `Line ${line} is not as it was exported.`);
    else verifier.entry(parsed satisfies Link);
    if (verifier.isFull()) break;
  }
  const publicKey = header?.keys[head?.keyId ?? ''] ?? '';
  return { ...verifier.end(head), isExport: header !== undefined, projectId: header?.projectId ?? null, publicKey };
}

function parseLine<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
