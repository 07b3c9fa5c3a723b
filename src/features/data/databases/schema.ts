import type { Instant } from '#src/contract/shapes.js';
import type { ColumnKind } from '#src/platform/db/collection-ddl.js';

/** The types of attributes. */
export const attributeTypes = [
  'string',
  'integer',
  'double',
  'boolean',
  'datetime',
  'email',
  'url',
  'ip',
  'enum',
] as const;
/** The type of an attribute. */
export type AttributeType = (typeof attributeTypes)[number];

/** A field of the documents of a collection. Bounds of whole numbers are decimal text, as they may have 64 bits. */
export interface Attribute {
  readonly number: number;
  readonly key: string;
  readonly type: AttributeType;
  readonly required: boolean;
  readonly array: boolean;
  /** As in a stored document; null where there is none. */
  readonly default: unknown;
  readonly size?: number;
  readonly min?: string;
  readonly max?: string;
  readonly elements?: readonly string[];
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** An index over attributes of a collection. */
export interface Index {
  readonly number: number;
  readonly key: string;
  readonly type: 'key' | 'unique';
  readonly attributes: readonly string[];
  readonly orders: readonly ('ASC' | 'DESC')[];
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** A collection with everything that reading and writing its documents takes. */
export interface Collection {
  readonly projectId: string;
  readonly databaseId: string;
  readonly id: string;
  readonly number: number;
  readonly version: number;
  readonly name: string;
  readonly enabled: boolean;
  readonly documentSecurity: boolean;
  readonly permissions: readonly string[];
  readonly attributes: readonly Attribute[];
  readonly indexes: readonly Index[];
  readonly lastPart: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

const kinds: Record<AttributeType, ColumnKind> = {
  string: 'text',
  datetime: 'text',
  email: 'text',
  url: 'text',
  ip: 'text',
  enum: 'text',
  integer: 'integer',
  double: 'double',
  boolean: 'boolean',
};

/** How an attribute is stored. */
export function columnKind({ type, array }: Pick<Attribute, 'type' | 'array'>): ColumnKind {
  return array ? 'list' : kinds[type];
}
