import { scanLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/cache/lru.js';
import type { Runtime } from '#src/platform/index.js';
import type { Collection } from '../../databases/index.js';
import type { Advice } from './advice.js';
import type { Shape } from './shape.js';
import { addIndexCommand, describeShape } from './text.js';

/** A list that no index serves. */
export interface Scan {
  readonly shape: Shape;
  /** The shape as JSON, used as the key of its count. */
  readonly text: string;
  readonly advice: Advice;
}

const logMs = scanLimits.logSeconds * 1000;
const bounds = { bytes: 1_048_576, entries: scanLimits.logLines, largest: 16_384 } as const;

/** Creates the log of slow lists. It logs each shape at most once an hour and limits the total lines, because callers choose the shapes. */
export function createScanLog({ log, clock }: Pick<Runtime, 'log' | 'clock'>) {
  const logged = new Lru<number>(bounds);
  let lines = 0;
  let since = Number.NEGATIVE_INFINITY;
  return (collection: Collection, { shape, text, advice }: Scan, ms: number): void => {
    const now = clock.monotonic();
    const key = `${collection.number} ${text}`;
    const last = logged.get(key);
    if (last !== undefined && now - last < logMs) return;
    if (now - since >= logMs) {
      since = now;
      lines = 0;
    }
    if (lines >= scanLimits.logLines) return;
    lines += 1;
    logged.set(key, now, 8);
    log.warn('list.scanned', {
      project: collection.projectId,
      database: collection.databaseId,
      collection: collection.id,
      list: describeShape(shape, collection),
      ms: Math.round(ms),
      advice: adviceText(collection, advice),
    });
  };
}

/** Returns the command that adds the missing index, or the reasons why there is none. */
export function adviceText(collection: Collection, { index, notes }: Advice): string {
  return index === null ? notes.join(' ') : addIndexCommand(collection, index);
}
