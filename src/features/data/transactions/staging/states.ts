import { Failure } from '#src/contract/errors.js';
import { instantOf } from '#src/platform/clock.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { stagedOperations, type Transaction, type TransactionStore, transactions } from '../store.js';
import type { Caller } from './calls.js';
import type { Staged } from './replay.js';

/** Another request of the same transaction came between. */
export class Overtaken extends Error {
  constructor() {
    super('another request has used the transaction meanwhile');
    this.name = 'Overtaken';
  }
}

/** The name under which a transaction is a caller's. */
export function ownerOf({ actor }: Pick<Caller, 'actor'>): string {
  return actor.kind === 'guest' ? 'guest' : `${actor.kind}:${actor.id}`;
}

/** Transactions as their owners read them and move them on. */
export interface States {
  /** Throws Failure `transaction_not_found` for all but the owner. */
  get(reader: Reader, caller: Caller, id: string): Promise<Transaction>;
  /** Throws Failure also where it has ended or expired. */
  getOpen(reader: Reader, caller: Caller, id: string): Promise<Transaction>;
  /** What is staged in it, in its order. Throws Overtaken where that is more than was read. */
  stagedIn(reader: Reader, transaction: Transaction): Promise<Staged[]>;
  /** Moves on a transaction that is as it was read. Throws Overtaken. */
  advance(unit: Unit, transaction: Transaction, change: Partial<Transaction>): Promise<Transaction>;
  /** Ends it, and forgets what was staged. */
  end(unit: Unit, transaction: Transaction, status: Transaction['status']): Promise<Transaction>;
}

/** Creates the reads and changes of transactions. */
export function createStates({ clock }: Pick<Runtime, 'clock'>, store: TransactionStore): States {
  const get: States['get'] = async (reader, caller, id) => {
    const row = await reader.one(store.find(caller.project.id, ownerOf(caller), id));
    if (row === undefined) throw new Failure('transaction_not_found');
    return transactions.decode(row);
  };
  const getOpen: States['getOpen'] = async (reader, caller, id) => {
    const transaction = await get(reader, caller, id);
    if (transaction.status !== 'pending') throw new Failure('transaction_not_ready');
    if (transaction.expiresAt < instantOf(clock.now())) throw new Failure('transaction_expired');
    return transaction;
  };
  const stagedIn: States['stagedIn'] = async (reader, { id, operations: count }) => {
    const rows = await reader.all(store.operations(id));
    if (rows.length !== count) throw new Overtaken();
    return rows.map((row) => stagedOperations.decode(row));
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
