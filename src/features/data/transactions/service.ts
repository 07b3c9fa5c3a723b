import { Failure } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import { auditContextOf, type Call, type Operation } from '#src/contract/operation.js';
import type { Instant } from '#src/contract/shapes.js';
import { instantOf } from '#src/platform/clock.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { type DocumentsOfUnit, SchemaChanged } from '../documents/index.js';
import type { GivenOperation } from './staging/actions.js';
import { charge, createAdding, tooLarge } from './staging/add.js';
import { type Caller, listedCall, named, type StagedCall } from './staging/calls.js';
import { createReplay, FailedOperation, readInRoom } from './staging/replay.js';
import { createStates, Overtaken, ownerOf } from './staging/states.js';
import type { Transaction, TransactionStore } from './store.js';

/** The service: transactions of documents. Every method but `begin` throws Failure `transaction_not_found` for all but the owner. */
export interface Transactions {
  begin(caller: Caller, seconds: number): Promise<Transaction>;
  get(reader: Reader, caller: Caller, id: string): Promise<Transaction>;
  /** Adds a request that was validated, and returns what it answers within the transaction; `keep` stores it for duplicates. */
  stage(caller: Caller, id: string, call: StagedCall, keep: Keep<unknown>): Promise<unknown>;
  /** Adds operations, all or none. */
  stageListed(
    caller: Caller,
    id: string,
    given: readonly GivenOperation[],
    keep: Keep<Transaction>,
  ): Promise<Transaction>;
  /** Reads as the transaction sees the documents. */
  read(caller: Caller, id: string, operationId: string, call: Pick<Call, 'params' | 'query'>): Promise<unknown>;
  /** Carries everything out, in one unit of work. Throws Failure that names the operation which was refused; then the transaction has failed. */
  commit(caller: Caller, id: string, keep: Keep<Transaction>): Promise<Transaction>;
  rollBack(caller: Caller, id: string, keep: Keep<Transaction>): Promise<Transaction>;
  remove(caller: Caller, id: string): Promise<void>;
}

/** Stores an answer in the unit that does what is asked. */
type Keep<T> = (unit: Unit, answer: T) => Promise<void>;

interface Deps {
  readonly store: TransactionStore;
  /** The operations on documents, with which those that a request lists are validated. */
  readonly operations: readonly Operation[];
  readonly within: (unit: Unit) => DocumentsOfUnit;
}

/** What the error of a statement says that was made for another schema, or that follows one in the same unit. */
const schemaCodes: readonly string[] = ['42P01', '42703', '25P02', 'SQLITE_ERROR'];

/** Builds the service of transactions. */
export function createTransactions(
  runtime: Pick<Runtime, 'db' | 'clock' | 'random'>,
  { store, operations, within }: Deps,
): Transactions {
  const { db, random } = runtime;
  const states = createStates(runtime, store);
  const { get, getOpen, stagedIn, end } = states;
  const add = createAdding(runtime, states, store, within);
  return {
    get,
    begin: (caller, seconds) =>
      db.work(auditContextOf(caller), async (unit) => {
        const [projectId, owner] = [caller.project.id, ownerOf(caller)];
        await unit.one(store.hold(projectId));
        const used = await unit.one(store.usage(projectId, owner, unit.now));
        if (Number(used?.own) >= transactionLimits.ofCaller || Number(used?.count) >= transactionLimits.ofProject)
          throw tooLarge('Too many transactions are open. Commit some or roll them back.');
        const transaction = newTransaction({ id: random.id(), projectId, owner }, unit.now, seconds);
        await unit.run(store.insert(transaction));
        return transaction;
      }),
    stage: (caller, id, call, keep) =>
      retried(async () => {
        const { rehearsed } = await add(
          caller,
          await getOpen(db, caller, id),
          { calls: [call], isListed: false },
          async (replay, before) => {
            await asConflict(() => replay.all(before));
            return replay.one(call, caller.request.ifMatch);
          },
          keep,
        );
        return rehearsed;
      }),
    stageListed: (caller, id, given, keep) =>
      retried(async () => {
        const opened = await getOpen(db, caller, id);
        const calls: StagedCall[] = [];
        for (const [at, one] of given.entries())
          calls.push(
            await named(opened.operations + at, { action: one.action, params: { ...one } }, () =>
              listedCall(operations, caller, one, () => random.id()),
            ),
          );
        const { transaction } = await add(
          caller,
          opened,
          { calls, isListed: true },
          async (replay, before) => {
            await asConflict(() => replay.all(before));
            for (const [at, call] of calls.entries()) await named(before.length + at, call, () => replay.one(call));
          },
          (unit, _, next) => keep(unit, next),
        );
        return transaction;
      }),
    read: async (caller, id, operationId, call) => {
      charge(caller, await getOpen(db, caller, id));
      return readInRoom(caller.request.answer, (room) =>
        retried(async () => {
          const transaction = await getOpen(db, caller, id);
          return db.rehearse(auditContextOf(caller), async (unit) => {
            const replay = createReplay(within, unit, caller, room);
            const staged = await stagedIn(unit, transaction);
            await replay.hold(staged.map(({ call }) => call));
            await asConflict(() => replay.all(staged));
            return replay.read(operationId, call);
          });
        }),
      );
    },
    commit: async (caller, id, keep) => {
      const by = auditContextOf(caller);
      charge(caller, await getOpen(db, caller, id));
      try {
        return await retried(() =>
          db.work(by, async (unit) => {
            const transaction = await getOpen(unit, caller, id);
            const staged = await stagedIn(unit, transaction);
            // First of all, so that of two processes only one goes on.
            const ended = await end(unit, transaction, 'committed');
            const replay = createReplay(within, unit, caller);
            await replay.hold(staged.map(({ call }) => call));
            await replay.demandUnchanged(staged);
            await replay.all(staged);
            await keep(unit, ended);
            return ended;
          }),
        );
      } catch (error) {
        if (!(error instanceof FailedOperation)) throw error;
        await db.work(by, async (unit) => {
          const transaction = await get(unit, caller, id);
          if (transaction.status === 'pending') await end(unit, transaction, 'failed');
        });
        const { failure } = error;
        throw failure.status === 409 ? new Failure('transaction_conflict', { message: failure.message }) : failure;
      }
    },
    rollBack: (caller, id, keep) =>
      retried(() =>
        db.work(auditContextOf(caller), async (unit) => {
          const ended = await end(unit, await getOpen(unit, caller, id), 'rolled_back');
          await keep(unit, ended);
          return ended;
        }),
      ),
    remove: (caller, id) =>
      db.work(auditContextOf(caller), async (unit) => {
        await get(unit, caller, id);
        await unit.run(store.remove(id));
      }),
  };
}

function newTransaction(
  { id, projectId, owner }: Pick<Transaction, 'id' | 'projectId' | 'owner'>,
  now: Instant,
  seconds: number,
): Transaction {
  const expiresAt = instantOf(Date.parse(now) + seconds * 1000);
  return {
    id,
    projectId,
    owner,
    status: 'pending',
    operations: 0,
    documents: 0,
    bytes: 0,
    createdAt: now,
    updatedAt: now,
    expiresAt,
  };
}

/** What was staged can be refused later only because something has changed elsewhere. */
async function asConflict(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof FailedOperation)) throw error;
    throw new Failure('transaction_conflict', { message: error.failure.message });
  }
}

/** Tries again where another request of the transaction came between, or the schema has changed under a statement. */
async function retried<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      const isOvertaken = error instanceof Overtaken || error instanceof SchemaChanged;
      const again = isOvertaken || (error instanceof DatabaseError && schemaCodes.includes(error.code));
      if (again && attempt < transactionLimits.attempts) continue;
      throw isOvertaken ? new Failure('transaction_conflict') : error;
    }
  }
}
