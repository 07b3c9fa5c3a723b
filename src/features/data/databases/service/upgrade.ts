import { documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Query } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { type Collection, currentLayout } from '../model/schema.js';
import { collections } from '../model/store.js';
import type { SchemaDeps } from './record.js';

/** Sequences that one unit upgrades, in some ten milliseconds. */
const batch = 1000;

/** Reprints documents that were printed in an earlier format, with sequences above `after` and up to `to`. */
export type Reprint = (collection: Collection, after: number, to: number) => Query;

/** Creates the job that upgrades tables of earlier layouts in small units and updates the document counts of collections. */
export function createUpgradeJob(
  { db, random }: Pick<Runtime, 'db' | 'random'>,
  { store, ddl, tables }: Pick<SchemaDeps, 'store' | 'ddl' | 'tables'>,
  reprint: Reprint,
): Job {
  const name = 'collections.upgrade';
  const work = <T>(body: (unit: Unit) => Promise<T>): Promise<T> =>
    db.work({ projectId: null, actor: { kind: 'job', id: name }, requestId: random.id() }, body);

  /** Does the next upgrade step of a collection, whose row it locks. False if none is left or the collection is gone. */
  const step = (number: number): Promise<boolean> =>
    work(async (unit) => {
      const row = await unit.one(store.lockByNumber(number));
      const collection = row && collections.decode(row);
      if (collection === undefined) return false;
      if (collection.layout >= currentLayout) {
        if (collection.tracked) return false;
        await tables.lockOne(unit, [documentTable(number)], 'writersAndChanges');
        for (const statement of ddl.track(number)) await unit.run(statement);
        await unit.run(store.tracked(number));
        return true;
      }
      const { upgradedTo: after } = collection;
      if (after === null) {
        await tables.lockOne(unit, [documentTable(number), readersTable(number)], 'everybody');
        for (const statement of ddl.beginUpgrade(number)) await unit.run(statement);
        await unit.run(store.upgradeReached(number, 0));
        return true;
      }
      const last = Number((await unit.one(ddl.lastSequence(number)))?.last ?? 0);
      if (after < last) {
        const to = Math.min(after + batch, last);
        await unit.run(ddl.upgradeReaders(number, after, to));
        await unit.run(reprint(collection, after, to));
        await unit.run(store.upgradeReached(number, to));
        return true;
      }
      // Each index is built in one statement that blocks writers: about a second per million documents.
      const missing = await unit.one(ddl.missingTimeIndex(number));
      if (missing !== undefined) {
        await tables.lockOne(unit, [documentTable(number)], 'writers');
        await unit.run(ddl.timeIndex(number, missing.time === 'created' ? 'created' : 'updated'));
      } else await unit.run(store.upgraded(number, currentLayout));
      return true;
    });

  return {
    name,
    schedule: '15 * * * * *',
    summary: 'Brings collections of earlier versions up to date, and sums up how many documents collections have',
    lease: 'database',
    run: async (signal) => {
      for (const { number } of await db.all(store.outdated(currentLayout))) {
        do signal.throwIfAborted();
        while (await step(Number(number)));
      }
      for (const statement of ddl.sumUpCounts()) await work((unit) => unit.run(statement));
    },
  };
}
