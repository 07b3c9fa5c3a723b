import type { FulltextIndex } from '#src/platform/db/collection-words.js';
import type { Fragment } from './fragment.js';
import type { Invalid } from './wire.js';

/** Comparisons with one value. */
export type Comparison = 'equal' | 'notEqual' | 'lessThan' | 'lessThanEqual' | 'greaterThan' | 'greaterThanEqual';
/** Searches for a substring. */
export type TextMatch = 'startsWith' | 'endsWith' | 'contains';
/** Searches for words. */
export type WordSearch = 'search' | 'notSearch';

/** A condition on the rows of a list; values are in their stored form. */
export type Condition<F> =
  | { readonly kind: 'compare'; readonly method: Comparison; readonly field: F; readonly values: readonly unknown[] }
  | { readonly kind: 'between'; readonly field: F; readonly low: unknown; readonly high: unknown }
  | { readonly kind: 'null'; readonly field: F; readonly isNull: boolean }
  | {
      readonly kind: 'match';
      readonly method: TextMatch;
      readonly field: F;
      readonly values: readonly string[];
      /** True if the text must contain every value, not just one of them. */
      readonly isEvery: boolean;
    }
  | { readonly kind: 'words'; readonly field: F; readonly text: string }
  | {
      readonly kind: 'fulltext';
      readonly method: WordSearch;
      readonly field: F;
      readonly words: readonly string[];
      readonly index: FulltextIndex;
    }
  | {
      readonly kind: 'element';
      readonly field: F;
      readonly values: readonly unknown[];
      /** True if the array must contain every value, not just one of them. */
      readonly isEvery: boolean;
    }
  /** The negation for rows that have a value: like the condition itself, it does not match null. */
  | { readonly kind: 'not'; readonly method: string; readonly field: F; readonly condition: Condition<F> }
  /** Conditions on one related row, which is in another table. */
  | { readonly kind: 'related'; readonly within: Within; readonly related: readonly Condition<F>[] }
  | { readonly kind: 'all' | 'any'; readonly conditions: readonly Condition<F>[] };

/** Converts a condition on related rows to one on the rows that they are related to. */
export type Within = (related: Fragment) => Fragment;

/** An attribute of related rows, with its name in queries. */
export interface RelatedName<F> {
  /** The relationship. */
  readonly key: string;
  /** The attribute, or its path starting at the related rows. */
  readonly attribute: string;
  readonly within: Within;
  /** The fields of the related rows; undefined if the caller can see none of these rows. */
  readonly vocabulary: Vocabulary<F> | undefined;
}

/** The fields of a list that queries can use. */
export interface Vocabulary<F> {
  readonly invalid: Invalid;
  /** The field with a name. Throws the failure of `invalid`. */
  field(name: string): F;
  kindOf(field: F): 'text' | 'list' | 'plain';
  /** The stored form of a value to compare with. Throws the failure of `invalid`. */
  comparable(field: F, value: unknown): unknown;
  /** The condition for a search in a text. Throws the failure of `invalid`. */
  search(field: F, method: WordSearch, text: string): Condition<F>;
  /** True if the list supports random order. */
  readonly takesRandom?: boolean;
  /** An attribute of related rows; undefined if the name is not a path to one. Throws the failure of `invalid`. */
  related?(name: string): RelatedName<F> | undefined;
}
