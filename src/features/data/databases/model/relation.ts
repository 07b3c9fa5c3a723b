import type { Instant } from '#src/contract/shapes.js';
import type { LinkNumbers, LinkSide } from '#src/platform/db/link-tables.js';

/** Types of relationships: how many documents they join, as seen from the collection they were created in. */
export const relationTypes = ['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany'] as const;
/** Type of a relationship. */
export type RelationType = (typeof relationTypes)[number];

/** Actions on related documents when a document is deleted. */
export const deleteRules = ['cascade', 'restrict', 'setNull'] as const;
/** Action on related documents when a document is deleted. */
export type DeleteRule = (typeof deleteRules)[number];

/** A relationship as one of its collections stores it. The other collection stores it with the other side. */
export interface Relation {
  /** Unique among the attributes of the collection. Also names the column of a visible side with at most one related document. */
  readonly number: number;
  readonly key: string;
  /** True for the child side of a one-way relationship, which its collection does not show. */
  readonly hidden: boolean;
  readonly link: LinkNumbers;
  readonly side: LinkSide;
  readonly type: RelationType;
  readonly twoWay: boolean;
  readonly onDelete: DeleteRule;
  readonly related: { readonly number: number; readonly id: string; readonly key: string };
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}
