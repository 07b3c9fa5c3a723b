import type { Instant } from '#src/contract/shapes.js';
import type { Sql } from '#src/platform/db/query.js';
import { bigint, instant, integer, nullable, table, text, word } from '#src/platform/db/table.js';
import { forNoKeyUpdate, raw } from '#src/platform/db/template.js';

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
  const isOwned = (projectId: string, owner: string) => sql`project_id = ${projectId} and owner = ${owner}`;
  return {
    rows: (projectId: string, owner: string) => ({ from: raw('transactions'), where: isOwned(projectId, owner) }),
    find: (projectId: string, owner: string, id: string) =>
      sql`select ${transactions.row} from transactions where ${isOwned(projectId, owner)} and id = ${id}`,
    /** Open transactions of the project and of the owner, and bytes of all of them. */
    usage: (projectId: string, owner: string, now: Instant) => sql`
      select count(*) as count, coalesce(sum(bytes), 0) as bytes,
        coalesce(sum(case when owner = ${owner} then 1 else 0 end), 0) as own
      from transactions where project_id = ${projectId} and status = 'pending' and expires_at >= ${now}`,
    /** Locks the project until the end of the unit, so that concurrent units count one after the other. */
    hold: (projectId: string) => sql`select id from projects where id = ${projectId}${forNoKeyUpdate}`,
    insert: (row: Transaction) => sql`${transactions.insert(row)}`,
    /** Updates a transaction if it is open and still has this number of operations. Returns its id if it was updated. */
    advance: ({ id, operations }: Transaction, change: Partial<Transaction>) => sql`
      update transactions set ${transactions.set(change)}
      where id = ${id} and status = 'pending' and operations = ${operations} returning id`,
    remove: (id: string) => sql`delete from transactions where id = ${id}`,
    operations: (id: string) => sql`
      select ${stagedOperations.row} from transaction_operations where transaction_id = ${id} order by position`,
    stage: (rows: readonly StagedOperation[]) => sql`${stagedOperations.insert(rows)}`,
    /** Deletes the staged operations of a transaction. */
    clear: (id: string) => sql`delete from transaction_operations where transaction_id = ${id}`,
    ofOwner: (projectId: string, owner: string) => sql`delete from transactions where ${isOwned(projectId, owner)}`,
    /** Deletes transactions that expired before this time. */
    prune: (expiredBefore: Instant, limit: number) => sql`
      delete from transactions where id in (
        select id from transactions where expires_at < ${expiredBefore} order by expires_at limit ${limit})`,
  };
}

/** SQL over transactions. */
export type TransactionStore = ReturnType<typeof createTransactionStore>;
