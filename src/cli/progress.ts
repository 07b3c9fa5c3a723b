import type { Output } from './output.js';

const everyMs = 100;
const barWidth = 24;

/** A line on a terminal that says how far a command is; nothing elsewhere. */
export interface Progress {
  /** Shows what was done; `part` is from 0 to 1, undefined where the whole is not known. */
  show(text: string, part?: number): void;
  /** Takes the line away, so that something else can be printed. */
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
      process.stderr.write(`\r\x1b[K${bar}${text}`.slice(0, (process.stderr.columns ?? 80) + 3));
    },
    clear: () => {
      if (isShown && shownAt > 0) process.stderr.write('\r\x1b[K');
    },
  };
}
