import type { Reader } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { collections, type Databases } from '../../databases/index.js';
import { currentAdvice, type IndexColumn } from './advice.js';
import { ScanCounts } from './counts.js';
import { createScanJobs } from './jobs.js';
import { adviceText } from './log.js';
import type { Shape } from './shape.js';
import { createScanStore, listScans, type ScanSelection } from './store.js';
import { describeShape } from './text.js';
import { createWatch, type WatchList } from './watch.js';

export type { WatchList } from './watch.js';

/** Slow lists of a shape, with advice. */
export interface AdvisedScan {
  readonly projectId: string;
  readonly databaseId: string;
  readonly collectionId: string;
  /** The list in words, without values. */
  readonly list: string;
  readonly count: number;
  readonly averageMs: number;
  readonly longestMs: number;
  readonly lastAt: string;
  /** The columns of the missing index; null if no index would help. */
  readonly index: readonly IndexColumn[] | null;
  /** The command that adds it. */
  readonly command: string | null;
  /** Parts of the list that no index serves. */
  readonly note: string;
}

/** Slow lists that no index serves. */
interface Scans {
  readonly watch: WatchList;
  readonly jobs: readonly Job[];
  /** Returns current advice for lists of some collections, ordered by their total time, longest first. */
  advise(reader: Reader, selection: ScanSelection): Promise<AdvisedScan[]>;
}

/** Creates the watch for lists that lack an index. */
export function createScans(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'log' | 'metrics'>,
  databases: Databases,
): Scans {
  const store = createScanStore(runtime.sql);
  const counts = new ScanCounts();
  return {
    watch: createWatch(runtime, counts, async ({ projectId, databaseId, id: collectionId }) => {
      const found = await databases.findCollection(runtime.db, { projectId, databaseId, collectionId });
      return found?.collection;
    }),
    jobs: createScanJobs(runtime, store, counts),
    advise: async (reader, selection) => {
      const rows = await reader.all(store.list(selection));
      return rows.flatMap((row) => {
        const { shape: text, lists, totalMs, longestMs, lastAt } = listScans.decode(row, 'scan');
        const collection = collections.decode(row, 'schema');
        const shape: Shape = JSON.parse(text);
        const advice = currentAdvice(shape, collection);
        if (advice === undefined) return [];
        const { projectId, databaseId, id: collectionId } = collection;
        return [
          {
            projectId,
            databaseId,
            collectionId,
            list: describeShape(shape, collection),
            count: lists,
            averageMs: Math.round(totalMs / lists),
            longestMs,
            lastAt,
            index: advice.index,
            command: advice.index === null ? null : adviceText(collection, advice),
            note: advice.notes.join(' '),
          },
        ];
      });
    },
  };
}
