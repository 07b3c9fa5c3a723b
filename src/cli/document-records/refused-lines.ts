import { visible, visibleJson } from '#src/contract/visible.js';

/** Maximum number of rejected lines shown as text per kind. Files and JSON contain all. */
const shownOfKind = 10;

/** A line or a record of an import that was rejected, and why. */
export interface RefusedLine {
  /** Absent if the source has no lines. */
  readonly line?: number;
  /** The kind of the record, if the source has several. */
  readonly kind?: string;
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
  const groupOf = ({ kind, type }: RefusedLine) => (kind === undefined ? type : `${kind}: ${type}`);
  return {
    /** Returns the text of a line; empty if enough of its kind were shown. */
    textOf: (refused: RefusedLine): string => {
      const { line, kind, id, type, message } = refused;
      const count = (counts.get(groupOf(refused)) ?? 0) + 1;
      counts.set(groupOf(refused), count);
      if (count > shownOfKind) return '';
      return `${kind ?? `line ${line}`}${id === undefined ? '' : ` (${visible(id)})`}: ${type}: ${visible(message)}\n`;
    },
    /** Returns a summary line for each kind not shown completely. */
    rest: (): string =>
      [...counts]
        .filter(([, count]) => count > shownOfKind)
        .map(([group, count]) => `and ${count - shownOfKind} more like it: ${group}\n`)
        .join(''),
  };
}
