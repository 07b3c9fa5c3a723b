import { documentTable, readersTable } from '#src/platform/db/collection-tables.js';
import type { Query } from '#src/platform/db/query.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/scheduler.js';
import { type Collection, currentLayout } from '../schema.js';
import { collections } from '../store.js';
import type { SchemaDeps } from './record.js';

/** Sequences that one unit brings along: some ten milliseconds. */
const batch = 1000;

/** Prints documents of some sequences anew, beyond the first and up to the last, where they were printed in an earlier form. */
export type Reprint = (collection: Collection, after: number, to: number) => Query;

/** Brings the tables of earlier layouts along, a small unit of work at a time, and sums up how many documents collections have. */
export function createUpgrade(
  { db, random }: Pick<Runtime, 'db' | 'random'>,
  { store, ddl, tables }: Pick<SchemaDeps, 'store' | 'ddl' | 'tables'>,
  reprint: Reprint,
): Job {
  const name = 'collections.upgrade';
  const work = <T>(body: (unit: Unit) => Promise<T>): Promise<T> =>
    db.work({ projectId: null, actor: { kind: 'job', id: name }, requestId: random.id() }, body);

  /** Does the next step of a collection whose row is locked; false when none is left or somebody has deleted it. */
  const step = (number: number): Promise<boolean> =>
    work(async (unit) => {
      const row = await unit.one(store.lockByNumber(number));
      const collection = row && collections.decode(row);
      if (collection === undefined || collection.layout >= currentLayout) return false;
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
      // Each is one statement, during which others wait to write: about a second for a million documents.
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
