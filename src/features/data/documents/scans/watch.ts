import { scanLimits } from '#src/contract/limits.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { Collection } from '../../databases/index.js';
import type { CollectionContext } from '../access/collections.js';
import type { DocumentQuery } from '../query/parse.js';
import { type Advice, adviceOf, isCurrent } from './advice.js';
import type { ScanCounts } from './counts.js';
import { createScanLog, type Scan } from './log.js';
import { createScanMetrics } from './metrics.js';
import { shapeOf } from './shape.js';

/** Reads a list. Records its shape if it was slow and no index serves it. The error of a timeout names the missing index. */
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
  // A parsed query is cached with its collection until the schema changes.
  const scans = new WeakMap<DocumentQuery, Scan | 'served'>();

  const scanOf = (request: DocumentQuery, collection: Collection): Scan | 'served' => {
    const before = scans.get(request);
    if (before !== undefined) return before;
    const shape = shapeOf(request);
    const advice = adviceOf(shape, collection);
    const scan = advice === undefined ? 'served' : { shape, text: JSON.stringify(shape), advice };
    scans.set(request, scan);
    return scan;
  };
  const keep = (collection: Collection, scan: Scan, ms: number): void => {
    if (ms < scanLimits.slowMs) return;
    counts.add(collection.number, scan.text, ms, instantOf(clock.now()));
    measure(ms / 1000);
    logScan(collection, scan, ms);
  };
  /** Completes the error of a timeout. The statement did not report the version of the schema, so the collection is read again. */
  const ended = async (error: DatabaseError, { shape, text }: Scan, collection: Collection, ms: number) => {
    const current = await findCurrent(collection).catch(() => undefined);
    if (current?.number !== collection.number || !isCurrent(shape, current)) return error;
    const advice = adviceOf(shape, current);
    if (advice === undefined) return error;
    keep(current, { shape, text, advice }, ms);
    return advised(error, advice);
  };
  return async (where, collection, request, read) => {
    const scan = scanOf(request, collection);
    if (scan === 'served') return read(where);
    const { account, waiter, maxMs } = where.reading;
    // The time that a read waits in the queue is not counted.
    let started: number | undefined;
    const onStarted = () => {
      started = clock.monotonic();
    };
    const elapsed = () => (started === undefined ? 0 : clock.monotonic() - started);
    const reading = { account, waiter, onStarted, ...(maxMs === undefined ? {} : { maxMs }) };
    try {
      const result = await read({ ...where, reading });
      keep(collection, scan, elapsed());
      return result;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== 'timeout') throw error;
      throw await ended(error, scan, collection, elapsed());
    }
  };
}

/** Adds the attributes of the missing index to the error. The query names all of them. */
function advised(error: DatabaseError, { index }: Advice): DatabaseError {
  if (index === null) return error;
  const keys = index.map(({ key }) => key).join(', ');
  return new DatabaseError(error.kind, error.code, {
    advice: `No index serves the list; an index over ${keys} would.`,
  });
}
