import { Failure } from '#src/contract/errors.js';
import { relationLimits } from '#src/contract/limits.js';
import type { AnswerReader } from '#src/platform/db/answer-reader.js';
import type { Collections } from '../access/collections.js';
import type { StoredDocument } from '../model/document.js';
import { toDocument } from '../model/row.js';
import { printDocument } from '../model/serializer.js';
import { SchemaChanged } from '../store/errors.js';
import type { LinkReads } from './link-reads.js';
import type { Following } from './plan.js';

/** The documents of one relationship and level. */
interface Level {
  readonly following: Following;
  readonly documents: ReadonlyMap<string, StoredDocument>;
  /** Ids of related documents, in order, by the id of their owner. */
  readonly ofOwner: ReadonlyMap<string, readonly string[]>;
  readonly below: readonly Level[];
}

/** Reads related documents within a snapshot and prints them into their owners. */
type Populate = (
  reader: AnswerReader,
  plan: readonly Following[],
  documents: readonly StoredDocument[],
) => Promise<readonly StoredDocument[]>;

interface Deps {
  readonly reads: LinkReads;
  readonly collections: Pick<Collections, 'forget'>;
}

/** Creates the reader of related documents. It uses one statement for each relationship and level. */
export function createPopulate(reads: LinkReads, collections: Collections): Populate {
  const deps: Deps = { reads, collections };
  return async (reader, plan, documents) => {
    const { bytes } = reader;
    const owners = documents.map(({ id }) => id);
    const levels = await readLevels(deps, reader, plan, owners);
    // A document with several owners appears several times in the answer.
    const sizeOf = createSizes();
    const added = documents.reduce((sum, one) => sum + sizeOf(one, levels), -bytes.counted);
    bytes.require(added);
    bytes.count(added);
    const print = createPrinting();
    return documents.map((one) => ({ ...one, data: print(one, levels) }));
  };
}

async function readLevels(
  deps: Deps,
  reader: AnswerReader,
  plan: readonly Following[],
  owners: readonly string[],
): Promise<Level[]> {
  const levels: Level[] = [];
  for (const following of plan) levels.push(await readLevel(deps, reader, following, owners));
  return levels;
}

async function readLevel(
  deps: Deps,
  reader: AnswerReader,
  following: Following,
  owners: readonly string[],
): Promise<Level> {
  const { reads, collections } = deps;
  const { relation, from, where, keys } = following;
  const documents = new Map<string, StoredDocument>();
  const ofOwner = new Map<string, string[]>();
  if (from === undefined || owners.length === 0) return { following, documents, ofOwner, below: [] };
  const { collection, visibility } = from;
  const { bytes } = reader;
  const rows = await reader
    .all(reads.related(relation, collection, owners, visibility, keys, bytes.left))
    .catch((error: unknown) => {
      // The statement may name a column that was removed. A retry reads the collection again.
      collections.forget(where);
      throw error;
    });
  const [first] = rows;
  if (first !== undefined && Number(first.version) !== collection.version) {
    collections.forget(where);
    throw new SchemaChanged();
  }
  if (rows.length > relationLimits.read) throw tooMany(relation.key);
  const total = Number(first?.total ?? 0);
  bytes.require(total);
  bytes.count(total);
  for (const row of rows) {
    const id = String(row.id);
    const owner = String(row.owner);
    if (!documents.has(id)) documents.set(id, toDocument(collection, row));
    const ids = ofOwner.get(owner);
    if (ids === undefined) ofOwner.set(owner, [id]);
    else ids.push(id);
  }
  return {
    following,
    documents,
    ofOwner,
    below: await readLevels(deps, reader, following.below, [...documents.keys()]),
  };
}

function bytesOf(document: StoredDocument): number {
  return printDocument(document).reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

function relatedOf({ ofOwner, documents }: Level, owner: string): StoredDocument[] {
  return (ofOwner.get(owner) ?? []).flatMap((id) => documents.get(id) ?? []);
}

/** Measures the bytes of documents with their related ones. Computes each document once. */
function createSizes() {
  const known = new Map<StoredDocument, number>();
  const sizeOf = (document: StoredDocument, levels: readonly Level[]): number => {
    const before = known.get(document);
    if (before !== undefined) return before;
    let bytes = bytesOf(document);
    for (const level of levels) {
      bytes += level.following.relation.key.length + ',"":null'.length;
      for (const related of relatedOf(level, document.id)) bytes += sizeOf(related, level.below) + 1;
    }
    known.set(document, bytes);
    return bytes;
  };
  return sizeOf;
}

/** Prints the attributes of documents with their related ones. Prints each related document once. */
function createPrinting() {
  const printed = new Map<StoredDocument, string>();
  const print = (document: StoredDocument, levels: readonly Level[]): string => {
    const members = levels.map((level) => `"${level.following.relation.key}":${value(document, level)}`);
    return [...(document.data === '' ? [] : [document.data]), ...members].join(',');
  };
  const whole = (document: StoredDocument, levels: readonly Level[]): string => {
    const before = printed.get(document);
    if (before !== undefined) return before;
    const text = printDocument({ ...document, data: print(document, levels) }).join('');
    printed.set(document, text);
    return text;
  };
  const value = ({ id }: StoredDocument, level: Level): string => {
    const texts = relatedOf(level, id).map((related) => whole(related, level.below));
    return level.following.isToOne ? (texts[0] ?? 'null') : `[${texts.join(',')}]`;
  };
  return print;
}

function tooMany(key: string): Failure {
  return new Failure('general_query_limit_exceeded', {
    message: `More than ${relationLimits.read} documents are related by ${key}. Read fewer documents at once, or list the related ones.`,
  });
}
