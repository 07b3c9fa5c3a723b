import { scanLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Collection } from '../../databases/index.js';
import type { CollectionContext } from '../access/collections.js';
import type { DocumentQuery } from '../query/parse.js';
import { type Advice, currentAdvice } from './advice.js';
import type { ScanCounts } from './counts.js';
import { createScanLog } from './log.js';
import { createScanMetrics } from './metrics.js';
import { shapeOf } from './shape.js';

/** Reads a list and measures it. Records its shape if it was slow and no index serves it. The error of a timeout names the missing index. */
export type WatchList = <T>(
  where: CollectionContext,
  collection: Collection,
  request: DocumentQuery,
  read: (where: CollectionContext) => Promise<T>,
) => Promise<T>;

/** Creates the watch of lists. `findCurrent` reads the current collection. */
export function createWatch(
  runtime: Pick<Runtime, 'clock' | 'log' | 'metrics'>,
  counts: ScanCounts,
  findCurrent: (collection: Collection) => Promise<Collection | undefined>,
): WatchList {
  const { clock } = runtime;
  const logScan = createScanLog(runtime);
  const measure = createScanMetrics(runtime);
  /** Records a slow list, and returns its advice. An index may serve it: then it is slow for another reason. */
  const record = (collection: Collection, request: DocumentQuery, ms: number): Advice | undefined => {
    const shape = shapeOf(request);
    const advice = currentAdvice(shape, collection);
    if (advice === undefined || ms < scanLimits.slowMs) return advice;
    const text = JSON.stringify(shape);
    counts.add(collection.number, text, ms, instantOf(clock.now()));
    measure(ms / 1000);
    logScan(collection, { shape, text, advice }, ms);
    return advice;
  };
  return async (where, collection, request, read) => {
    const { account, waiter, maxMs } = where.reading;
    // The time that a read waits in the queue is not counted.
    let started: number | undefined;
    const onStarted = () => {
      started = clock.monotonic();
    };
    const reading = { account, waiter, onStarted, ...(maxMs === undefined ? {} : { maxMs }) };
    const elapsed = () => (started === undefined ? 0 : clock.monotonic() - started);
    try {
      const result = await read({ ...where, reading });
      const ms = elapsed();
      if (ms >= scanLimits.slowMs) record(collection, request, ms);
      return result;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== 'timeout') throw error;
      const ms = elapsed();
      // The statement did not report the version of the schema, so the collection is read again.
      const current = await findCurrent(collection).catch(() => undefined);
      throw current?.number === collection.number ? advised(error, record(current, request, ms)) : error;
    }
  };
}

/** Adds the attributes of the missing index to the error. The query names all of them. */
function advised(error: DatabaseError, advice: Advice | undefined): DatabaseError {
  if (!advice?.index) return error;
  const keys = advice.index.map(({ key }) => key).join(', ');
  return new DatabaseError(error.kind, error.code, {
    advice: `No index serves the list; an index over ${keys} would.`,
  });
}
