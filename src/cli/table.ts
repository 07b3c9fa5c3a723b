import { visible } from '#src/contract/visible.js';
import { Lines, type View } from './lines.js';
import { relativeTime } from './relative-time.js';
import { cutToWidth, widthOf } from './text-width.js';

const gap = 2;
/** A column is not made narrower than this, so that something of each cell is seen. */
const leastWidth = 4;

/** Rows in columns, with a heading. In a terminal cells are cut so that each row is one line, and times are relative. */
export function columns(heading: readonly string[], rows: readonly (readonly string[])[]): Lines {
  return Lines.fitted((view) => {
    const all = [heading, ...rows.map((row) => row.map((cell) => shownTime(cell, view)))].map((row) =>
      row.map(visible),
    );
    const natural = heading.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
    const widths = view.width === undefined ? natural : fit(natural, view.width - gap * (natural.length - 1));
    return all.map((row) =>
      row
        .map((cell, column) => pad(cutToWidth(cell, widths[column] ?? 0), widths[column] ?? 0))
        .join(' '.repeat(gap))
        .trimEnd(),
    );
  });
}

/** Names and values, one a line. Values are never cut: they are there to be copied. */
export function pairs(entries: readonly (readonly [string, string])[]): Lines {
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return Lines.fitted((view) =>
    entries.map(([name, value]) => `${name.padEnd(width)}  ${shownTime(value, view)}`.trimEnd()),
  );
}

/** The widest column gives way first; the first one, which names the row, gives way last. */
function fit(natural: readonly number[], available: number): number[] {
  const widths = [...natural];
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - available; excess > 0; excess--) {
    const others = Math.max(0, ...widths.slice(1));
    const column = others > leastWidth ? widths.indexOf(others, 1) : 0;
    if ((widths[column] ?? 0) <= leastWidth) break;
    widths[column] = (widths[column] ?? 0) - 1;
  }
  return widths;
}

const pad = (cell: string, width: number) => cell + ' '.repeat(Math.max(0, width - widthOf(cell)));

const stored = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/;

/** A time relative in a terminal, and in UTC with `Z` elsewhere; any other text as it is. */
function shownTime(cell: string, { width, now }: View): string {
  if (!stored.test(cell)) return cell;
  const time = Date.parse(cell);
  if (Number.isNaN(time)) return cell;
  return width === undefined ? new Date(time).toISOString() : relativeTime(time, now);
}
