import { scanLimits } from '#src/contract/limits.js';
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

/** Creates the log of slow lists. It logs each shape once an hour and limits the total lines, because callers choose the shapes. */
export function createScanLog({ log, clock }: Pick<Runtime, 'log' | 'clock'>) {
  const logged = new Set<string>();
  let since = Number.NEGATIVE_INFINITY;
  return (collection: Collection, { shape, text, advice }: Scan, ms: number): void => {
    const now = clock.monotonic();
    if (now - since >= logMs) {
      since = now;
      logged.clear();
    }
    const key = `${collection.number} ${text}`;
    if (logged.has(key) || logged.size >= scanLimits.logLines) return;
    logged.add(key);
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
