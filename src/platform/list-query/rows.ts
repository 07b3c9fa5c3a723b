import { raw, type SqlPart, type SqlTag } from '#src/platform/db/template.js';
import { type Fragment, join } from './query/fragment.js';

/** The rows of a list: the tables they come from, and the condition that they meet. */
export interface ListRows {
  readonly from: SqlPart;
  readonly where: SqlPart;
}

/** The rows that meet further conditions as well. */
export function narrowed(sql: SqlTag, { from, where }: ListRows, conditions: readonly Fragment[]): ListRows {
  if (conditions.length === 0) return { from, where };
  const { sql: text, values } = join(conditions, ' and ');
  return { from, where: sql`${where} and ${raw(text, values)}` };
}
