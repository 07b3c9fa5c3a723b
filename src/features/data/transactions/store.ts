import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, integer, json, nullable, table, text, word } from '#src/platform/db/table.js';
import type { StagedCall } from './staging/calls.js';

/** What becomes of a transaction. */
export const statuses = ['pending', 'committed', 'rolled_back', 'failed'] as const;

/** Transactions of documents. */
export const transactions = table('transactions', {
  id: text,
  projectId: text,
  owner: text,
  status: word<(typeof statuses)[number]>(),
  operations: integer,
  documents: integer,
  bytes: bigint,
  createdAt: instant,
  updatedAt: instant,
  expiresAt: instant,
});

/** A transaction as stored. */
export type Transaction = ReturnType<typeof transactions.decode>;

/** Operations that wait for the commit of their transaction. */
export const stagedOperations = table('transaction_operations', {
  transactionId: text,
  position: integer,
  call: json<StagedCall>(),
  base: nullable(text),
});

type StagedOperation = ReturnType<typeof stagedOperations.decode>;

/** SQL over transactions and the operations that wait in them. */
export function createTransactionStore(sql: Sql) {
  const { knex, dialect } = sql;
  const { name } = transactions;
  const ofOwner = (projectId: string, owner: string) => knex(name).where({ project_id: projectId, owner });
  const open = (projectId: string, now: Instant) =>
    knex(name).where({ project_id: projectId, status: 'pending' }).where('expires_at', '>=', now);
  return {
    rows: ofOwner,
    columns: () => transactions.select(sql),
    find: (projectId: string, owner: string, id: string): Query =>
      sql.compile(ofOwner(projectId, owner).where({ id }).select(transactions.select(sql))),
    /** How many are open in the project and of the owner, and bytes of all. */
    usage: (projectId: string, owner: string, now: Instant): Query =>
      sql.compile(
        open(projectId, now).select(
          knex.raw('count(*) as count'),
          knex.raw('coalesce(sum(bytes), 0) as bytes'),
          knex.raw('coalesce(sum(case when owner = ? then 1 else 0 end), 0) as own', [owner]),
        ),
      ),
    /** Held until the end of the unit: what a project has is counted one after the other. */
    hold: (projectId: string): Query =>
      sql.compile(
        dialect === 'postgres'
          ? knex('projects').where({ id: projectId }).select('id').forNoKeyUpdate()
          : knex('projects').where({ id: projectId }).select('id'),
      ),
    insert: (row: Transaction): Query => sql.compile(knex(name).insert(transactions.encode(row))),
    /** Changes one that is open and has so many operations; returns its id then. */
    advance: ({ id, operations }: Transaction, change: Partial<Transaction>): Query =>
      sql.compile(
        knex(name).where({ id, status: 'pending', operations }).update(transactions.encodeSome(change)).returning('id'),
      ),
    remove: (id: string): Query => sql.compile(knex(name).where({ id }).delete()),
    operations: (id: string): Query =>
      sql.compile(
        knex(stagedOperations.name)
          .where({ transaction_id: id })
          .orderBy('position')
          .select(stagedOperations.select(sql)),
      ),
    stage: (rows: readonly StagedOperation[]): Query =>
      sql.compile(knex(stagedOperations.name).insert(rows.map((row) => stagedOperations.encode(row)))),
    /** Forgets what the operations of a transaction say. */
    clear: (id: string): Query => sql.compile(knex(stagedOperations.name).where({ transaction_id: id }).delete()),
    ofOwner: (projectId: string, owner: string): Query => sql.compile(ofOwner(projectId, owner).delete()),
    ofProject: (projectId: string, limit: number): Query =>
      sql.compile(
        knex(name)
          .whereIn('id', knex(name).where({ project_id: projectId }).limit(limit).select('id'))
          .delete(),
      ),
    /** Deletes those that have expired before a time. */
    prune: (expiredBefore: Instant, limit: number): Query =>
      sql.compile(
        knex(name)
          .whereIn(
            'id',
            knex(name).where('expires_at', '<', expiredBefore).orderBy('expires_at').limit(limit).select('id'),
          )
          .delete(),
      ),
  };
}

/** SQL over transactions. */
export type TransactionStore = ReturnType<typeof createTransactionStore>;
