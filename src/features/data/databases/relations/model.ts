import type { Instant } from '#src/contract/shapes.js';
import type { LinkNumbers, LinkSide } from '#src/platform/db/link-tables.js';

/** How many documents a relationship joins, said of the collection that it was created in first. */
export const relationTypes = ['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany'] as const;
/** How many documents a relationship joins. */
export type RelationType = (typeof relationTypes)[number];

/** What becomes of related documents when a document is deleted. */
export const deleteRules = ['cascade', 'restrict', 'setNull'] as const;
/** What becomes of related documents when a document is deleted. */
export type DeleteRule = (typeof deleteRules)[number];

/** A relationship as one of its collections has it: the other collection has the same with the other side. */
export interface Relation {
  /** Among the attributes of the collection; also names the column of a side that is shown and single. */
  readonly number: number;
  readonly key: string;
  /** The side of a relationship of one way that its collection shows nothing of. */
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
