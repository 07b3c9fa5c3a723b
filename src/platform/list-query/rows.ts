import type { Sql } from '#src/platform/db/query.js';
import { raw, type SqlPart, type SqlTag } from '#src/platform/db/template.js';
import type { ListField } from './fields.js';
import { type Fragment, join } from './query/fragment.js';
import type { SearchIndex } from './query/search-grams.js';

/** The rows of a list: the tables they come from, and the condition that they meet. */
export interface ListRows {
  readonly from: SqlPart;
  readonly where: SqlPart;
}

/** A list of rows of the service's own tables. */
export interface ListDescription {
  /** Every row of the list before any query, such as the users of a project. */
  readonly rows: ListRows;
  readonly select: SqlPart;
  /** The fields for queries, by their names in the API; must include `$id` and `$createdAt`. */
  readonly fields: Readonly<Record<string, ListField>>;
  /** The columns that `search` covers. */
  readonly search?: readonly string[];
  /** The index of these columns; without one, a search reads every row. */
  readonly searchIndex?: SearchIndex;
  /** True if the table can have very many rows. Long lists then refuse queries that no index serves. */
  readonly isLarge?: true;
  /** The default order; `$createdAt` if absent. */
  readonly sequence?: ListField;
  /** The columns of `select`, if not just `packed`. */
  readonly columns?: readonly string[];
  /** Most bytes of a row. A page that cannot exceed its limit is not measured. */
  readonly rowBytes?: number;
}

/** What each step of reading a list needs. */
export interface ListDeps {
  readonly sql: Sql;
  /** The highest total; 0 without a limit. */
  readonly totalLimit: number;
  /** A search reads every row of lists up to this length. */
  readonly few: number;
}

/** The rows that meet further conditions as well. */
export function narrowed(sql: SqlTag, { from, where }: ListRows, conditions: readonly Fragment[]): ListRows {
  if (conditions.length === 0) return { from, where };
  const { sql: text, values } = join(conditions, ' and ');
  return { from, where: sql`${where} and ${raw(text, values)}` };
}
