import type { Output } from './output.js';

const everyMs = 100;
const barWidth = 24;

/** A progress line on a terminal; prints nothing elsewhere. */
export interface Progress {
  /** Shows the progress. `part` is between 0 and 1; undefined if the total is unknown. */
  show(text: string, part?: number): void;
  /** Clears the line before other output. */
  clear(): void;
}

/** Creates the progress of a command. */
export function createProgress({ json, quiet, color }: Pick<Output, 'json' | 'quiet' | 'color'>): Progress {
  const isShown = process.stderr.isTTY === true && !json && !quiet && color;
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show: (text, part) => {
      const now = performance.now();
      if (!isShown || now - shownAt < everyMs) return;
      shownAt = now;
      const filled = Math.round(barWidth * Math.min(1, part ?? 0));
      const bar = part === undefined ? '' : `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] `;
      process.stderr.write(`\r\x1b[K${bar}${text}`.slice(0, (process.stderr.columns || 80) + 3));
    },
    clear: () => {
      if (isShown && shownAt > 0) process.stderr.write('\r\x1b[K');
    },
  };
}
