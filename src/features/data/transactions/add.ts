import { Failure } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import { auditContextOf } from '#src/contract/operation.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import { printJson } from '#src/platform/text/json.js';
import type { DocumentsOfUnit } from '../documents/index.js';
import { named, type StagedCall, type TransactionCaller } from './calls.js';
import { createReplay, type Replay, type Staged } from './replay.js';
import type { SealedCalls } from './sealed-calls.js';
import type { States } from './states.js';
import type { Transaction, TransactionStore } from './store.js';

/** Charges the operations that a request replays to the rate limit. Counts documents too, as one operation can change many. */
export function charge(
  { request }: TransactionCaller,
  { operations, documents }: Pick<Transaction, 'operations' | 'documents'>,
): void {
  const calls = Math.max(0, Math.ceil(Math.max(operations, documents) / transactionLimits.changesPerCall) - 1);
  request.charge(calls, 'transaction_limit_exceeded');
}

/** Dependencies of adding calls. */
export interface AddingDeps {
  readonly db: Runtime['db'];
  readonly states: States;
  readonly store: TransactionStore;
  readonly sealed: Pick<SealedCalls, 'close'>;
  readonly within: (unit: Unit) => DocumentsOfUnit;
}

/** Adds calls to a transaction. `rehearse` first applies them after the staged ones, in a unit that is rolled back. */
export async function addCalls<T>(
  { db, states, store, sealed, within }: AddingDeps,
  caller: TransactionCaller,
  transaction: Transaction,
  { calls, isListed }: { readonly calls: readonly StagedCall[]; readonly isListed: boolean },
  rehearse: (replay: Replay, before: readonly Staged[]) => Promise<T>,
  keep: (unit: Unit, rehearsed: T, transaction: Transaction) => Promise<void>,
): Promise<{ readonly rehearsed: T; readonly transaction: Transaction }> {
  const by = auditContextOf(caller);
  const count = transaction.operations + calls.length;
  const bytes = calls.reduce((sum, call) => sum + Buffer.byteLength(printJson(call)), 0);
  if (count > transactionLimits.operations)
    throw tooLarge(`A transaction has at most ${transactionLimits.operations} operations.`);
  if (transaction.bytes + bytes > transactionLimits.bytes)
    throw tooLarge(`The operations of a transaction have at most ${transactionLimits.bytes} bytes.`);
  charge(caller, { operations: count, documents: transaction.documents });
  const { bases, rehearsed, documents } = await db.rehearse(by, async (unit) => {
    const before = await states.stagedIn(unit, caller, transaction);
    const replay = createReplay(within, unit, caller);
    const known = before.map(({ call }) => call);
    await replay.lock([...known, ...calls]);
    const found: (string | null)[] = [];
    for (const [at, call] of calls.entries()) {
      const base = () => replay.baseOf(call, [...known, ...calls.slice(0, at)]);
      found.push(await (isListed ? named(before.length + at, call, base) : base()));
    }
    const result = await rehearse(replay, before);
    return { bases: found, rehearsed: result, documents: replay.changed() };
  });
  return db.work(by, async (unit) => {
    const used = await unit.one(store.usage(transaction.projectId, transaction.owner, unit.now));
    if (Number(used?.bytes) + bytes > transactionLimits.projectBytes)
      throw tooLarge(
        `The open transactions of the project would have more than ${transactionLimits.projectBytes} bytes.`,
      );
    const change = { operations: count, documents, bytes: transaction.bytes + bytes };
    const next = await states.advance(unit, transaction, change);
    const rows = calls.map((call, at) => {
      const place = { transactionId: transaction.id, position: transaction.operations + at };
      return { ...place, call: sealed.close(caller.project, place, call), base: bases[at] ?? null };
    });
    await unit.run(store.stage(rows));
    await keep(unit, rehearsed, next);
    return { rehearsed, transaction: next };
  });
}

/** The error of a transaction that would be too large. */
export function tooLarge(message: string): Failure {
  return new Failure('transaction_limit_exceeded', { message });
}
