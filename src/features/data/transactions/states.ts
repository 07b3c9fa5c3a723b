import { Failure } from '#src/contract/errors.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import type { TransactionCaller } from './calls.js';
import type { Staged } from './replay.js';
import type { SealedCalls } from './sealed-calls.js';
import { stagedOperations, type Transaction, type TransactionStore, transactions } from './store.js';

/** Error for a concurrent request to the same transaction. */
export class Overtaken extends Error {
  constructor() {
    super('another request has used the transaction meanwhile');
    this.name = 'Overtaken';
  }
}

/** The owner of a transaction as stored: kind and id of the actor. */
export function transactionOwnerOf({ actor }: Pick<TransactionCaller, 'actor'>): string {
  return actor.kind === 'guest' ? 'guest' : `${actor.kind}:${actor.id}`;
}

/** Reads transactions and changes their state. */
export interface States {
  /** Throws Failure `transaction_not_found` if the caller is not the owner. */
  get(reader: Reader, caller: TransactionCaller, id: string): Promise<Transaction>;
  /** Like `get`, but also throws Failure `transaction_not_ready` if it has ended and `transaction_expired`. */
  getOpen(reader: Reader, caller: TransactionCaller, id: string): Promise<Transaction>;
  /** The staged operations in order. Throws Overtaken if their number differs from the one in `transaction`. */
  stagedIn(reader: Reader, caller: TransactionCaller, transaction: Transaction): Promise<Staged[]>;
  /** Updates an open transaction. Throws Overtaken if it has changed since it was read. */
  advance(unit: Unit, transaction: Transaction, change: Partial<Transaction>): Promise<Transaction>;
  /** Ends a transaction and deletes its staged operations. */
  end(unit: Unit, transaction: Transaction, status: Transaction['status']): Promise<Transaction>;
}

/** Creates the reads and state changes of transactions. */
export function createStates(
  { clock }: Pick<Runtime, 'clock'>,
  store: TransactionStore,
  calls: Pick<SealedCalls, 'open'>,
): States {
  const get: States['get'] = async (reader, caller, id) => {
    const row = await reader.one(store.find(caller.project.id, transactionOwnerOf(caller), id));
    if (row === undefined) throw new Failure('transaction_not_found');
    return transactions.decode(row);
  };
  const getOpen: States['getOpen'] = async (reader, caller, id) => {
    const transaction = await get(reader, caller, id);
    if (transaction.status !== 'pending') throw new Failure('transaction_not_ready');
    if (transaction.expiresAt < instantOf(clock.now())) throw new Failure('transaction_expired');
    return transaction;
  };
  const stagedIn: States['stagedIn'] = async (reader, { project }, { id, operations: count }) => {
    const rows = await reader.all(store.operations(id));
    if (rows.length !== count) throw new Overtaken();
    return rows.map((row) => {
      const operation = stagedOperations.decode(row);
      return { call: calls.open(project, operation), base: operation.base };
    });
  };
  const advance: States['advance'] = async (unit, transaction, change) => {
    const all = { ...change, updatedAt: unit.now };
    if ((await unit.one(store.advance(transaction, all))) === undefined) throw new Overtaken();
    return { ...transaction, ...all };
  };
  const end: States['end'] = async (unit, transaction, status) => {
    const ended = await advance(unit, transaction, { status, bytes: 0 });
    await unit.run(store.clear(transaction.id));
    return ended;
  };
  return { get, getOpen, stagedIn, advance, end };
}
