import { queryBounds } from '#src/contract/limits.js';
import type { Output } from '../terminal/output.js';
import type { ApplianceCall, ParsedArgs } from './command.js';
import { pageLimit, wholeNumber } from './input.js';
import { inGroup } from './options.js';

/** The query for a whole list. */
export const wholeList = { queries: [JSON.stringify({ method: 'limit', values: [queryBounds.limit] })] } as const;

/** Prints a note if a list is longer than one page. */
export function noteMore({ output }: { readonly output: Output }, shown: number, total: number): void {
  if (shown < total) output.note(`Showing ${shown} of ${total}. The HTTP API lists the others with limit and offset.`);
}

const defaultLimit = 100;

/** The options of a list that is read in pages. */
export const pageOptions = inGroup('Page', [
  { flag: '--limit', value: 'N', summary: 'maximum number of entries (default: 100)' },
  { flag: '--offset', value: 'N', summary: 'number of entries to skip, up to 5000 (default: 0)' },
  { flag: '--after', value: 'ID', summary: 'only the entries after the one with this id' },
]);

/** The queries of these options. Throws a usage error. */
export function pageQueries(args: ParsedArgs): string[] {
  const query = (method: string, value: number | string) => JSON.stringify({ method, values: [value] });
  const after = args.text('--after');
  return [
    query('limit', pageLimit(args, defaultLimit, queryBounds.limit)),
    query('offset', wholeNumber(args, '--offset', 0, queryBounds.offset)),
    ...(after === undefined ? [] : [query('cursorAfter', after)]),
  ];
}

/** Prints a note if more entries may follow those of a page. Totals are counted up to `SVC_TOTAL_LIMIT` (0: all). */
export function notePage(
  { args, output, runtime }: Pick<ApplianceCall, 'args' | 'output' | 'runtime'>,
  ids: readonly string[],
  total: number,
): void {
  const last = ids.at(-1);
  if (last === undefined || ids.length === total || ids.length < pageLimit(args, defaultLimit, queryBounds.limit))
    return;
  const all = total === runtime.config.totalLimit ? `${total} or more` : String(total);
  output.note(`Showing ${ids.length} of ${all}. Use --after ${last} to see the next ones.`);
}
