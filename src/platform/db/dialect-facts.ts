// Differences between the databases that plans depend on. Code elsewhere checks a fact, not the name of a database.
import type { DialectName } from './dialect-words.js';

/** Facts about a database. */
export interface DialectFacts {
  /** The name for people. */
  readonly name: string;
  /** The name in the conventions of OpenTelemetry. */
  readonly systemName: string;
  /** Units write one after another, so their rows need no order of locks. */
  readonly hasOneWriter: boolean;
  /** A subquery in FROM can use the tables before it, and read some rows of a table for each of them. */
  readonly hasLateralJoins: boolean;
  /** A list in a column is parsed again for each row. A bound list is parsed once. */
  readonly parsesListsPerRow: boolean;
  /** Changes of documents are recorded with their transactions, so that a statement can see if an earlier total holds. */
  readonly recordsChanges: boolean;
}

/** The facts of each database. */
export const dialectFacts: Readonly<Record<DialectName, DialectFacts>> = {
  sqlite: {
    name: 'SQLite',
    systemName: 'sqlite',
    hasOneWriter: true,
    hasLateralJoins: false,
    parsesListsPerRow: true,
    // It counts fast enough without.
    recordsChanges: false,
  },
  postgres: {
    name: 'Postgres',
    systemName: 'postgresql',
    hasOneWriter: false,
    hasLateralJoins: true,
    parsesListsPerRow: false,
    recordsChanges: true,
  },
};
