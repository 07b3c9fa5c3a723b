import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import type { ColumnKind } from '#src/platform/db/dialect-words.js';
import type { AttributeSeal } from '../encryption/index.js';
import { type AttributeOptions, type AttributeTypeName, attributeTypes } from './attribute-types.js';
import type { Relation } from './relation.js';

/** A field of the documents of a collection. */
export interface Attribute extends AttributeOptions {
  readonly number: number;
  readonly key: string;
  readonly type: AttributeTypeName;
  readonly required: boolean;
  readonly array: boolean;
  /** True if values are encrypted in the database; absent if not. */
  readonly encrypt?: true;
  /** As in a stored document; null where there is none. */
  readonly default: unknown;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** Members that every document has, how they are stored and how they compare. */
export const systemFields = {
  $id: { key: '$id', column: 'id', type: 'string', size: 36, array: false },
  $sequence: { key: '$sequence', column: 'seq', type: 'integer', array: false },
  $createdAt: { key: '$createdAt', column: 'created_at', type: 'datetime', array: false },
  $updatedAt: { key: '$updatedAt', column: 'updated_at', type: 'datetime', array: false },
} as const satisfies Readonly<Record<string, { readonly column: string } & Omit<Indexable, 'number'>>>;
/** The name of a member that every document has. */
export type SystemField = keyof typeof systemFields;

/** Checks if a key names a member that every document has. */
export const isSystemField = (key: string): key is SystemField => Object.hasOwn(systemFields, key);

/** An attribute, or a member that every document has, as a column of an index. */
type Indexable = Pick<Attribute, 'key' | 'type' | 'size' | 'array' | 'encrypt'> & {
  readonly number?: number;
  /** The column of a member that every document has; null never stands in it. */
  readonly column?: string;
};

/** An index over attributes of a collection and members that every document has. */
export interface Index {
  readonly number: number;
  readonly key: string;
  readonly type: 'key' | 'unique' | 'fulltext';
  readonly attributes: readonly string[];
  /** Orders of the attributes, by position. A missing one is ascending. */
  readonly orders: readonly ('ASC' | 'DESC')[];
  /** Lengths as the client sent them, for tools that compare. An index always covers whole values. */
  readonly lengths?: readonly number[];
  /** The last sequence whose words a fulltext index holds, while it is built for documents that were there before it. */
  readonly builtTo?: number;
  /** Why it could not be built; it is neither kept nor searched then. */
  readonly problem?: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** Which collection of which project. */
export type CollectionPath = { readonly [K in 'projectId' | 'databaseId' | 'collectionId']: string };

/** The collection that a call names. */
export function pathOf(call: {
  readonly project: { readonly id: string };
  readonly params: Omit<CollectionPath, 'projectId'>;
}): CollectionPath {
  const { databaseId, collectionId } = call.params;
  return { projectId: call.project.id, databaseId, collectionId };
}

/** A collection with everything that reading and writing its documents takes. */
export interface Collection {
  readonly projectId: string;
  readonly databaseId: string;
  readonly id: string;
  readonly number: number;
  readonly version: number;
  /** The layout of its tables: `currentLayout`, or an earlier one, which a job brings along. */
  readonly layout: number;
  /** The last sequence that the job has brought along; null before and after. */
  readonly upgradedTo: number | null;
  /** True if its tables record changes of documents; a job adds that to collections of earlier versions. */
  readonly tracked: boolean;
  readonly name: string;
  readonly enabled: boolean;
  readonly documentSecurity: boolean;
  readonly permissions: readonly string[];
  readonly attributes: readonly Attribute[];
  readonly indexes: readonly Index[];
  /** The relationships that it takes part in; of those to one document the attributes have the column. */
  readonly relations: readonly Relation[];
  readonly lastPart: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  /** Seals and opens values of encrypted attributes; undefined if there are none. */
  readonly seal?: AttributeSeal | undefined;
}

/** The layout of new tables: times are indexed, readers know when their documents were created, and documents are counted. */
export const currentLayout = 2;

/** How an attribute is stored. An encrypted value is text, also if it is a list. */
export function columnKind({ type, array, encrypt }: Pick<Attribute, 'type' | 'array' | 'encrypt'>): ColumnKind {
  if (encrypt === true) return 'text';
  return array ? 'list' : attributeTypes[type].column;
}

/** The attribute with a key. Throws Failure `attribute_not_found`. */
export function attributeOf({ attributes }: Collection, key: string): Attribute {
  return partOf(attributes, key, 'attribute');
}

/** The index with a key. Throws Failure `index_not_found`. */
export function indexOf({ indexes }: Collection, key: string): Index {
  return partOf(indexes, key, 'index');
}

/** The fulltext indexes whose words are kept, with their attributes: `ready` only those that hold every document. */
export function fulltextIndexes(
  { indexes, attributes }: Collection,
  ready = false,
): readonly { readonly index: Index; readonly attribute: Attribute }[] {
  return indexes.flatMap((index) => {
    if (index.type !== 'fulltext' || index.problem !== undefined || (ready && index.builtTo !== undefined)) return [];
    const attribute = attributes.find(({ key }) => key === index.attributes[0]);
    return attribute === undefined ? [] : [{ index, attribute }];
  });
}

/** The attribute or the member of every document that an index names; undefined if there is none. */
export function indexableOf({ attributes }: Pick<Collection, 'attributes'>, key: string): Indexable | undefined {
  return isSystemField(key) ? systemFields[key] : attributes.find((one) => one.key === key);
}

/** The columns of an index, those of arrays included. */
export function indexedColumns(collection: Pick<Collection, 'attributes'>, keys: readonly string[]): string[] {
  return keys.flatMap((key) => indexableOf(collection, key) ?? []).map(indexedColumn);
}

/** The column of a part of an index. */
export function indexedColumn({ number, column = attributeColumn(number ?? 0) }: Indexable): string {
  return column;
}

/** Returns why there can be no index over these attributes; undefined if there can be one. */
export function indexProblem(attributes: readonly Indexable[], type: Index['type']): string | undefined {
  const keysOf = (isMeant: (attribute: Indexable) => boolean) => attributes.filter(isMeant).map(({ key }) => key);
  const characters = attributes.reduce(
    (sum, { type, size = attributeTypes[type].characters ?? 0, array }) => sum + (array ? 0 : size),
    0,
  );
  if (attributes.some(({ encrypt }) => encrypt))
    return `${quoted(keysOf(({ encrypt }) => encrypt === true))} is encrypted, which no index can cover.`;
  if (type === 'fulltext') return fulltextProblem(attributes);
  if (attributes.length === 0 || attributes.length > schemaLimits.indexedAttributes)
    return `An index has 1 to ${schemaLimits.indexedAttributes} attributes.`;
  if (attributes.some(({ type }) => type === 'relationship'))
    return `${quoted(keysOf(({ type }) => type === 'relationship'))} is a relationship, which has an index of its own.`;
  const twice = attributes.find((one, position) => attributes.indexOf(one) < position);
  if (twice !== undefined) return `"${twice.key}" stands twice in it.`;
  if (characters > schemaLimits.indexedCharacters)
    return `${quoted(keysOf(({ array }) => !array))} may have ${characters} characters together, and an index holds ${schemaLimits.indexedCharacters}.`;
  if (type === 'unique' && attributes.some(({ array }) => array))
    return `${quoted(keysOf(({ array }) => array))} is an array, which cannot be unique.`;
  return undefined;
}

function fulltextProblem([attribute, ...others]: readonly Indexable[]): string | undefined {
  if (attribute === undefined || others.length > 0) return 'A fulltext index covers exactly one attribute.';
  if (isSystemField(attribute.key)) return `A fulltext index covers an attribute, which "${attribute.key}" is not.`;
  if (attribute.array || !attributeTypes[attribute.type].isSearchable)
    return `A fulltext index is for text, which "${attribute.key}" does not hold.`;
  return undefined;
}

/** Keys as a message names them. */
export function quoted(keys: readonly string[]): string {
  return keys.map((key) => `"${key}"`).join(', ');
}

function partOf<P extends Attribute | Index>(parts: readonly P[], key: string, kind: 'attribute' | 'index'): P {
  const found = parts.find((part) => part.key === key);
  if (found === undefined)
    throw new Failure(`${kind}_not_found`, {
      message: ({ attribute }) => `There is no ${kind === 'attribute' ? attribute : kind} "${key}".`,
    });
  return found;
}
