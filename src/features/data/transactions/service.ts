import { Failure } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import { auditContextOf, type Call, type Operation } from '#src/contract/operation.js';
import type { Instant } from '#src/contract/shapes.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { retry } from '#src/platform/runtime/retry.js';
import { SchemaChanged } from '../documents/index.js';
import type { GivenOperation } from './actions.js';
import { type AddingDeps, addCalls, charge, tooLarge } from './add.js';
import { listedCall, named, type StagedCall, type TransactionCaller } from './calls.js';
import { createReplay, FailedOperation } from './replay.js';
import { createSealedCalls } from './sealed-calls.js';
import { createStates, Overtaken, transactionOwnerOf } from './states.js';
import type { Transaction } from './store.js';

/** Document transactions. Every method except `begin` throws Failure `transaction_not_found` if the caller is not the owner. */
export interface Transactions {
  begin(caller: TransactionCaller, seconds: number): Promise<Transaction>;
  get(reader: Reader, caller: TransactionCaller, id: string): Promise<Transaction>;
  /** Adds a validated request and returns its response within the transaction. `keep` stores the response for idempotent retries. */
  stage(caller: TransactionCaller, id: string, call: StagedCall, keep: Keep<unknown>): Promise<unknown>;
  /** Adds operations, all or none. */
  stageListed(
    caller: TransactionCaller,
    id: string,
    given: readonly GivenOperation[],
    keep: Keep<Transaction>,
  ): Promise<Transaction>;
  /** Reads documents as the transaction sees them. */
  read(
    caller: TransactionCaller,
    id: string,
    operationId: string,
    call: Pick<Call, 'params' | 'query'>,
  ): Promise<unknown>;
  /** Applies all operations in one unit of work. If one is refused, throws a Failure that names it and marks the transaction as failed. */
  commit(caller: TransactionCaller, id: string, keep: Keep<Transaction>): Promise<Transaction>;
  rollBack(caller: TransactionCaller, id: string, keep: Keep<Transaction>): Promise<Transaction>;
  remove(caller: TransactionCaller, id: string): Promise<void>;
}

/** Stores the response for idempotent retries, in the same unit as the change. */
type Keep<T> = (unit: Unit, answer: T) => Promise<void>;

interface Deps extends AddingDeps {
  readonly random: Runtime['random'];
  /** The document operations, used to validate the ones that a request lists. */
  readonly operations: readonly Operation[];
}

/** Error codes after a concurrent schema change: missing table or column, and statements after a failed one in the same unit. */
const schemaCodes: readonly string[] = ['42P01', '42703', '25P02', 'SQLITE_ERROR'];

/** Builds the service of transactions. */
export function createTransactions(
  runtime: Pick<Runtime, 'db' | 'clock' | 'random' | 'sealing'>,
  given: Pick<Deps, 'store' | 'operations' | 'within'>,
): Transactions {
  const { db, random } = runtime;
  const sealed = createSealedCalls(runtime);
  const states = createStates(runtime, given.store, sealed);
  const deps: Deps = { ...given, db, random, sealed, states };
  return { get: states.get, ...bind(deps, { begin, stage, stageListed, read, commit, rollBack, remove }) };
}

function begin({ db, store, random }: Deps, caller: TransactionCaller, seconds: number): Promise<Transaction> {
  return db.work(auditContextOf(caller), async (unit) => {
    const [projectId, owner] = [caller.project.id, transactionOwnerOf(caller)];
    await unit.one(store.hold(projectId));
    const used = await unit.one(store.usage(projectId, owner, unit.now));
    if (Number(used?.own) >= transactionLimits.ofCaller || Number(used?.count) >= transactionLimits.ofProject)
      throw tooLarge('Too many transactions are open. Commit some or roll them back.');
    const transaction = newTransaction({ id: random.id(), projectId, owner }, unit.now, seconds);
    await unit.run(store.insert(transaction));
    return transaction;
  });
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

function stage(
  deps: Deps,
  caller: TransactionCaller,
  id: string,
  call: StagedCall,
  keep: Keep<unknown>,
): Promise<unknown> {
  return retried(async () => {
    const { rehearsed } = await addCalls(
      deps,
      caller,
      await deps.states.getOpen(deps.db, caller, id),
      { calls: [call], isListed: false },
      async (replay, before) => {
        await asConflict(() => replay.all(before));
        return replay.one(call, caller.request.ifMatch);
      },
      keep,
    );
    return rehearsed;
  });
}

function stageListed(
  deps: Deps,
  caller: TransactionCaller,
  id: string,
  given: readonly GivenOperation[],
  keep: Keep<Transaction>,
): Promise<Transaction> {
  const { db, states, operations, random } = deps;
  return retried(async () => {
    const opened = await states.getOpen(db, caller, id);
    const calls: StagedCall[] = [];
    for (const [at, one] of given.entries())
      calls.push(
        await named(opened.operations + at, { action: one.action, params: { ...one } }, () =>
          listedCall(operations, caller, one, () => random.id()),
        ),
      );
    const { transaction } = await addCalls(
      deps,
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
  });
}

async function read(
  { db, states: { getOpen, stagedIn }, within }: Deps,
  caller: TransactionCaller,
  id: string,
  operationId: string,
  call: Pick<Call, 'params' | 'query'>,
): Promise<unknown> {
  charge(caller, await getOpen(db, caller, id));
  return caller.request.budget.read((bytes) =>
    retried(async () => {
      const transaction = await getOpen(db, caller, id);
      return db.rehearse(auditContextOf(caller), async (unit) => {
        const replay = createReplay(within, unit, caller, bytes);
        const staged = await stagedIn(unit, caller, transaction);
        await replay.lock(staged.map((one) => one.call));
        await asConflict(() => replay.all(staged));
        return replay.read(operationId, call);
      });
    }),
  );
}

async function commit(
  { db, states: { get, getOpen, stagedIn, end }, within }: Deps,
  caller: TransactionCaller,
  id: string,
  keep: Keep<Transaction>,
): Promise<Transaction> {
  const by = auditContextOf(caller);
  charge(caller, await getOpen(db, caller, id));
  try {
    return await retried(() =>
      db.work(by, async (unit) => {
        const transaction = await getOpen(unit, caller, id);
        const staged = await stagedIn(unit, caller, transaction);
        // First, so that only one of two concurrent commits continues.
        const ended = await end(unit, transaction, 'committed');
        const replay = createReplay(within, unit, caller);
        await replay.lock(staged.map(({ call }) => call));
        await replay.requireUnchanged(staged);
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
    // The document existed when the operation was staged, so `document_not_found` is a conflict too.
    const isConflict = failure.status === 409 || failure.type === 'document_not_found';
    throw isConflict ? new Failure('transaction_conflict', { message: failure.message }) : failure;
  }
}

function rollBack({ db, states }: Deps, caller: TransactionCaller, id: string, keep: Keep<Transaction>) {
  return retried(() =>
    db.work(auditContextOf(caller), async (unit) => {
      const ended = await states.end(unit, await states.getOpen(unit, caller, id), 'rolled_back');
      await keep(unit, ended);
      return ended;
    }),
  );
}

function remove({ db, states, store }: Deps, caller: TransactionCaller, id: string): Promise<void> {
  return db.work(auditContextOf(caller), async (unit) => {
    await states.get(unit, caller, id);
    await unit.run(store.remove(id));
  });
}

/** Reports a failed replay as a conflict: staged operations succeeded before, so the data has changed since. */
async function asConflict(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof FailedOperation)) throw error;
    throw new Failure('transaction_conflict', { message: error.failure.message });
  }
}

/** Retries after a concurrent request to the same transaction, or after a schema change. */
function retried<T>(act: () => Promise<T>): Promise<T> {
  return retry(act, (error, attempt) => {
    const isOvertaken = error instanceof Overtaken || error instanceof SchemaChanged;
    const again = isOvertaken || (error instanceof DatabaseError && schemaCodes.includes(error.code));
    if (again && attempt < transactionLimits.attempts) return true;
    throw isOvertaken ? new Failure('transaction_conflict') : error;
  });
}
