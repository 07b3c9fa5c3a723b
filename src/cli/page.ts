import { queryBounds } from '#src/contract/limits.js';
import type { Output } from './output.js';

/** The query of a list that is printed as a whole. */
export const wholeList = { queries: [JSON.stringify({ method: 'limit', values: [queryBounds.limit] })] } as const;

/** Says so where a list has more than a page holds. */
export function noteMore({ output }: { readonly output: Output }, shown: number, total: number): void {
  if (shown < total) output.note(`Showing ${shown} of ${total}. The HTTP API lists the others with limit and offset.`);
}
