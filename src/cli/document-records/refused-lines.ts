import { visible, visibleJson } from '#src/contract/visible.js';

/** Maximum number of rejected lines shown as text per kind. Files and JSON contain all. */
const shownOfKind = 10;

/** A line of an import that was rejected, and why. */
export interface RefusedLine {
  readonly line: number;
  readonly id?: string;
  readonly type: string;
  readonly message: string;
}

/** Formats a rejected line as JSON. */
export function refusedAsJson(refused: RefusedLine): string {
  return `${visibleJson(JSON.stringify(refused))}\n`;
}

/** Formats rejected lines as text: the first of each kind, then the number of others. */
export function createRefusedTexts() {
  const counts = new Map<string, number>();
  return {
    /** Returns the text of a line; empty if enough of its kind were shown. */
    textOf: ({ line, id, type, message }: RefusedLine): string => {
      const count = (counts.get(type) ?? 0) + 1;
      counts.set(type, count);
      if (count > shownOfKind) return '';
      return `line ${line}${id === undefined ? '' : ` (${visible(id)})`}: ${type}: ${visible(message)}\n`;
    },
    /** Returns a summary line for each kind not shown completely. */
    rest: (): string =>
      [...counts]
        .filter(([, count]) => count > shownOfKind)
        .map(([type, count]) => `and ${count - shownOfKind} more like it: ${type}\n`)
        .join(''),
  };
}
