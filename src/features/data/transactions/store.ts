import type { Instant } from '#src/contract/shapes.js';
import type { Query, Sql } from '#src/platform/db/query.js';
import { bigint, instant, integer, nullable, table, text, word } from '#src/platform/db/table.js';

/** States of a transaction. */
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

/** Operations staged until the commit of their transaction. */
export const stagedOperations = table('transaction_operations', {
  transactionId: text,
  position: integer,
  call: text,
  base: nullable(text),
});

/** An operation as stored; its call is sealed. */
export type StagedOperation = ReturnType<typeof stagedOperations.decode>;

/** SQL over transactions and their staged operations. */
export function createTransactionStore(sql: Sql) {
  const { knex } = sql;
  const { name } = transactions;
  const ofOwner = (projectId: string, owner: string) => knex(name).where({ project_id: projectId, owner });
  const open = (projectId: string, now: Instant) =>
    knex(name).where({ project_id: projectId, status: 'pending' }).where('expires_at', '>=', now);
  return {
    rows: ofOwner,
    columns: () => transactions.select(sql),
    find: (projectId: string, owner: string, id: string): Query =>
      sql.compile(ofOwner(projectId, owner).where({ id }).select(transactions.select(sql))),
    /** Open transactions of the project and of the owner, and bytes of all of them. */
    usage: (projectId: string, owner: string, now: Instant): Query =>
      sql.compile(
        open(projectId, now).select(
          knex.raw('count(*) as count'),
          knex.raw('coalesce(sum(bytes), 0) as bytes'),
          knex.raw('coalesce(sum(case when owner = ? then 1 else 0 end), 0) as own', [owner]),
        ),
      ),
    /** Locks the project until the end of the unit, so that concurrent units count one after the other. */
    hold: (projectId: string): Query =>
      sql.compile(knex('projects').where({ id: projectId }).select('id').forNoKeyUpdate()),
    insert: (row: Transaction): Query => sql.compile(knex(name).insert(transactions.encode(row))),
    /** Updates a transaction if it is open and still has this number of operations. Returns its id if it was updated. */
    advance: ({ id, operations }: Transaction, change: Partial<Transaction>): Query =>
      sql.compile(
        knex(name).where({ id, status: 'pending', operations }).update(transactions.encodeSome(change)).returning('id'),
      ),
    remove: (id: string): Query => sql.compile(knex(name).where({ id }).delete()),
    ...operationStatements(sql),
    ofOwner: (projectId: string, owner: string): Query => sql.compile(ofOwner(projectId, owner).delete()),
    ofProject: (projectId: string, limit: number): Query =>
      sql.compile(
        knex(name)
          .whereIn('id', knex(name).where({ project_id: projectId }).limit(limit).select('id'))
          .delete(),
      ),
    /** Deletes transactions that expired before this time. */
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

function operationStatements(sql: Sql) {
  const { knex } = sql;
  return {
    operations: (id: string): Query =>
      sql.compile(
        knex(stagedOperations.name)
          .where({ transaction_id: id })
          .orderBy('position')
          .select(stagedOperations.select(sql)),
      ),
    stage: (rows: readonly StagedOperation[]): Query =>
      sql.compile(knex(stagedOperations.name).insert(rows.map((row) => stagedOperations.encode(row)))),
    /** Deletes the staged operations of a transaction. */
    clear: (id: string): Query => sql.compile(knex(stagedOperations.name).where({ transaction_id: id }).delete()),
  };
}
