import { visible, visibleJson } from '#src/contract/visible.js';

/** How many refused lines of a kind are shown as text; a file and JSON have all. */
const shownOfKind = 10;

/** A line of an import that was not written, and why. */
export interface RefusedLine {
  readonly line: number;
  readonly id?: string;
  readonly type: string;
  readonly message: string;
}

/** A refused line as JSON. */
export function refusedAsJson(refused: RefusedLine): string {
  return `${visibleJson(JSON.stringify(refused))}\n`;
}

/** Refused lines as text: the first of each kind, and how many more there were. */
export function createRefusedTexts() {
  const counts = new Map<string, number>();
  return {
    /** The text of a line; empty where enough of its kind were shown. */
    textOf: ({ line, id, type, message }: RefusedLine): string => {
      const count = (counts.get(type) ?? 0) + 1;
      counts.set(type, count);
      if (count > shownOfKind) return '';
      return `line ${line}${id === undefined ? '' : ` (${visible(id)})`}: ${type}: ${visible(message)}\n`;
    },
    /** A line for each kind of which not all were shown. */
    rest: (): string =>
      [...counts]
        .filter(([, count]) => count > shownOfKind)
        .map(([type, count]) => `and ${count - shownOfKind} more like it: ${type}\n`)
        .join(''),
  };
}
