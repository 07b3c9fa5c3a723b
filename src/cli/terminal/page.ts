import { queryBounds } from '#src/contract/limits.js';
import type { Output } from './output.js';

/** The query for a whole list. */
export const wholeList = { queries: [JSON.stringify({ method: 'limit', values: [queryBounds.limit] })] } as const;

/** Prints a note if a list is longer than one page. */
export function noteMore({ output }: { readonly output: Output }, shown: number, total: number): void {
  if (shown < total) output.note(`Showing ${shown} of ${total}. The HTTP API lists the others with limit and offset.`);
}
