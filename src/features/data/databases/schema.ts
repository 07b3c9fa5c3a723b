import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import type { Instant } from '#src/contract/shapes.js';
import type { ColumnKind } from '#src/platform/db/collection-ddl.js';
import { type AttributeOptions, type AttributeTypeName, attributeTypes } from './attribute-types.js';
import type { Relation } from './relations/model.js';

/** A field of the documents of a collection. */
export interface Attribute extends AttributeOptions {
  readonly number: number;
  readonly key: string;
  readonly type: AttributeTypeName;
  readonly required: boolean;
  readonly array: boolean;
  /** As in a stored document; null where there is none. */
  readonly default: unknown;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** An index over attributes of a collection. */
export interface Index {
  readonly number: number;
  readonly key: string;
  readonly type: 'key' | 'unique' | 'fulltext';
  readonly attributes: readonly string[];
  readonly orders: readonly ('ASC' | 'DESC')[];
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
}

/** The layout of new tables: times are indexed, readers know when their documents were created, and documents are counted. */
export const currentLayout = 2;

/** How an attribute is stored. */
export function columnKind({ type, array }: Pick<Attribute, 'type' | 'array'>): ColumnKind {
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

/** Why there can be no index over these attributes; undefined where there can be one. */
export function indexProblem(attributes: readonly Attribute[], type: Index['type']): string | undefined {
  const keysOf = (isMeant: (attribute: Attribute) => boolean) => attributes.filter(isMeant).map(({ key }) => key);
  const characters = attributes.reduce(
    (sum, { type, size = attributeTypes[type].characters ?? 0, array }) => sum + (array ? 0 : size),
    0,
  );
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

function fulltextProblem([attribute, ...others]: readonly Attribute[]): string | undefined {
  if (attribute === undefined || others.length > 0) return 'A fulltext index covers exactly one attribute.';
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
  if (found === undefined) throw new Failure(`${kind}_not_found`, { message: `There is no ${kind} "${key}".` });
  return found;
}
