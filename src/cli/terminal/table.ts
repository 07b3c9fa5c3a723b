import { visible } from '#src/contract/visible.js';
import { Lines, type View } from './lines.js';
import { relativeTime } from './relative-time.js';
import { cutToWidth, widthOf, wrapWords } from './text-width.js';

const gap = 2;
/** Minimum width of a column, so that part of each cell remains visible. */
const leastWidth = 4;

/** True for columns of ids. They are never cut, so that they can be copied. */
const isId = (heading: string) => /\bID$/.test(heading);

/** Minimum readable widths. Columns of sentences need more, and so do all columns while an optional one could be dropped instead. */
const readable = { cell: 8, besideOptional: 20, sentence: 20 } as const;

/** Options for fitting a table into a terminal. */
interface TableOptions {
  /** The last column contains sentences, which are wrapped instead of cut. */
  readonly sentences?: boolean;
  /** Headings of columns that, like ids, are never cut, so that they can be copied. */
  readonly whole?: readonly string[];
  /** Headings of columns to drop in this order on a narrow terminal, before rows become blocks. */
  readonly optional?: readonly string[];
}

/**
 * Formats rows in columns with a heading. In a terminal, times are relative, and cells other than ids are cut so that each row is one line.
 * If columns get too narrow, optional ones are dropped; if that is not enough, each row becomes a block of lines.
 */
export function columns(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  options: TableOptions = {},
): Lines {
  return Lines.fitted((view) => {
    const all = [heading, ...rows.map((row) => row.map((cell) => shownTime(cell, view)))].map((row) =>
      row.map(visible),
    );
    const { width } = view;
    if (width === undefined) return all.map((row) => lineOf(row, naturalWidths(all)));
    if (rows.length === 0) return [cutToWidth(lineOf(heading, naturalWidths(all)), width), '(none)'];
    const { optional = [] } = options;
    for (let left = 0; left <= optional.length; left++) {
      const least = left < optional.length ? readable.besideOptional : readable.cell;
      const lines = tableIn(width, withoutColumns(all, optional.slice(0, left)), { ...options, least });
      if (lines !== undefined) return lines;
    }
    return all.slice(1).flatMap((row) => blockOf(heading, row, width));
  });
}

const naturalWidths = (all: readonly (readonly string[])[]): number[] =>
  (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));

function withoutColumns(all: readonly (readonly string[])[], headings: readonly string[]): (readonly string[])[] {
  const kept = (all[0] ?? []).map((name) => !headings.includes(name));
  return all.map((row) => row.filter((_, column) => kept[column]));
}

/** Formats a table within a width; undefined if a column gets too narrow. */
function tableIn(
  width: number,
  all: readonly (readonly string[])[],
  { sentences = false, whole = [], least }: TableOptions & { readonly least: number },
): string[] | undefined {
  const natural = naturalWidths(all);
  const isWhole = (all[0] ?? []).map((name) => isId(name) || whole.includes(name));
  const widths = fit(natural, width - gap * (natural.length - 1), isWhole);
  const isHard = widths.some((given, column) => {
    const full = natural[column] ?? 0;
    if (isWhole[column]) return given < full;
    const isSentence = sentences && column === widths.length - 1;
    return given < Math.min(full, isSentence ? readable.sentence : least);
  });
  if (isHard) return undefined;
  return all.flatMap((row) => (sentences ? wrappedLines(row, widths) : [lineOf(row, widths)]));
}

/** Formats a row on one line. */
function lineOf(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => pad(cutToWidth(cell, widths[column] ?? 0), widths[column] ?? 0));
  return cells.join(' '.repeat(gap)).trimEnd();
}

/** Formats a row and wraps its last cell. */
function wrappedLines(row: readonly string[], widths: readonly number[]): string[] {
  const [first = '', ...more] = wrapWords(row.at(-1) ?? '', widths.at(-1) ?? 0).split('\n');
  const before = row.slice(0, -1);
  return [first, ...more].map((part, at) => lineOf([...before.map((cell) => (at === 0 ? cell : '')), part], widths));
}

/** Formats a row as a block: the first cell, then each non-empty cell below it with its heading. */
function blockOf(heading: readonly string[], row: readonly string[], width: number): string[] {
  const [first = '', ...others] = row;
  const label = Math.max(widthOf(heading[0] ?? '') - gap, ...heading.slice(1).map(widthOf)) + gap;
  const room = Math.max(leastWidth, width - gap - label);
  const lines = others.flatMap((cell, at) => {
    if (cell === '' || cell === '-') return [];
    const parts = wrapWords(cell, room).split('\n');
    return parts.map((part, line) => [line === 0 ? (heading[at + 1] ?? '') : '', cutToWidth(part, room)] as const);
  });
  const title = `${pad(heading[0] ?? '', label + gap)}${first}`;
  return [cutToWidth(title, width), ...lines.map(([name, part]) => `${' '.repeat(gap)}${pad(name, label)}${part}`)];
}

/** Formats an entry of a continuous list, whose column widths are unknown. */
export function entryLine(cells: readonly string[]): Lines {
  return Lines.fitted((view) => [
    cells
      .map((cell) => shownTime(cell, view))
      .join(' '.repeat(gap))
      .trimEnd(),
  ]);
}

/** Formats names and values, one per line. Values are never cut, so that they can be copied. */
export function pairs(entries: readonly (readonly [string, string])[]): Lines {
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return Lines.fitted((view) =>
    entries.map(([name, value]) => `${name.padEnd(width)}  ${shownTime(value, view)}`.trimEnd()),
  );
}

/** Shrinks the widest columns first, then the first column, and columns that are kept whole last. */
function fit(natural: readonly number[], available: number, whole: readonly boolean[]): number[] {
  const widths = [...natural];
  const inTurn = [
    widths.map((_, column) => column > 0 && !whole[column]),
    widths.map((_, column) => column === 0 && !whole[0]),
    widths.map((_, column) => whole[column] === true),
  ];
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  for (const mayGive of inTurn)
    for (; excess > 0; excess--) {
      const widest = Math.max(0, ...widths.filter((_, column) => mayGive[column]));
      if (widest <= leastWidth) break;
      const column = widths.findIndex((width, at) => mayGive[at] && width === widest);
      widths[column] = widest - 1;
    }
  return widths;
}

const pad = (cell: string, width: number) => cell + ' '.repeat(Math.max(0, width - widthOf(cell)));

const stored = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/;

/** Formats a time: relative in a terminal, otherwise UTC with `Z`. Other texts are unchanged. */
function shownTime(cell: string, { width, now }: View): string {
  if (!stored.test(cell)) return cell;
  const time = Date.parse(cell);
  if (Number.isNaN(time)) return cell;
  return width === undefined ? new Date(time).toISOString() : relativeTime(time, now);
}
