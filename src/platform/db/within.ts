import type { Database, Reads, Unit } from './unit.js';

/** The database inside a unit of work: everything read and changed through it belongs to that unit. */
export function within(unit: Unit): Database {
  const reads: Reads = {
    all: (query) => unit.all(query),
    one: (query) => unit.one(query),
    snapshot: (body) => body(unit),
  };
  return {
    ...reads,
    lists: () => reads,
    work: (_, body) => body(unit),
    rehearse: () => Promise.reject(new Error('a part of a unit cannot be taken back')),
    note: async () => {},
    onAnnounced: () => {},
  };
}
