import { wordLimits } from '#src/contract/limits.js';
import type { Unit } from '#src/platform/db/unit.js';
import { createWordStore } from '#src/platform/db/word-store.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { type Collection, type CollectionPath, type Index, indexOf } from '../model/schema.js';
import type { Databases } from '../model/service.js';
import { collections, type DatabaseStore } from '../model/store.js';
import { indexNextWords } from './word-batch.js';

/** Builds fulltext indexes over existing documents. */
export interface WordBuilds {
  /** Builds an index for up to one second and returns it with its progress; the job does the rest. */
  begin(path: CollectionPath, key: string): Promise<Index>;
  readonly job: Job;
}

/** Time limit for building an index within the request that adds it. */
const longestWaitMs = 1000;

/**
 * Creates the builder. It works in units of about ten milliseconds, and documents can be written in between. Every unit that starts after
 * the index was added writes the words of its documents itself. If a process dies, the next one continues after the last unit.
 */
export function createWordBuilds(
  { db, sql, random, clock }: Pick<Runtime, 'db' | 'sql' | 'random' | 'clock'>,
  store: DatabaseStore,
  databases: Databases,
): WordBuilds {
  const name = 'indexes.build';
  const words = createWordStore(sql);
  const work = <T>(body: (unit: Unit) => Promise<T>): Promise<T> =>
    db.work({ projectId: null, actor: { kind: 'job', id: name }, requestId: random.id() }, body);

  /** Indexes the next documents of a collection, whose row it locks. False if nothing is left to do. */
  const step = (number: number): Promise<boolean> =>
    work(async (unit) => {
      const row = await unit.one(store.lockByNumber(number));
      const collection = row && collections.decode(row);
      const index = collection?.indexes.find(({ builtTo }) => builtTo !== undefined);
      const attribute = collection?.attributes.find(({ key }) => key === index?.attributes[0]);
      if (collection === undefined || index?.builtTo === undefined || attribute === undefined) return false;
      const { builtTo: after, ...whole } = index;
      const put = (changed: Index, over: boolean) =>
        unit.run(store.indexesBuilt(number, replaced(collection, index, changed), over));
      const numbers = { collection: number, attribute: attribute.number, index: index.number };
      const { last, hasTooMany } = await indexNextWords(unit, words, numbers, after);
      const problem = `A document has more than ${wordLimits.words} different words in ${attribute.key}.`;
      if (last === undefined || hasTooMany) await put(hasTooMany ? { ...whole, problem } : whole, true);
      else await put({ ...whole, builtTo: last }, false);
      return true;
    });

  return {
    begin: async (path, key) => {
      const started = clock.monotonic();
      const { number } = await databases.getCollection(db, path);
      while (clock.monotonic() - started < longestWaitMs && (await step(number)));
      return indexOf(await databases.getCollection(db, path), key);
    },
    job: {
      name,
      schedule: '*/15 * * * * *',
      summary: 'Builds fulltext indexes for documents that were there before them',
      lease: 'database',
      run: async (signal) => {
        for (const { number } of await db.all(store.withUnbuilt())) {
          do signal.throwIfAborted();
          while (await step(Number(number)));
        }
      },
    },
  };
}

function replaced({ indexes }: Collection, before: Index, after: Index): readonly Index[] {
  return indexes.map((one) => (one === before ? after : one));
}
