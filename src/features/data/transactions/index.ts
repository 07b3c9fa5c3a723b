import { Failure } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import { type Call, implement, type Operation } from '#src/contract/operation.js';
import { RawJson } from '#src/contract/raw-json.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { pruneInBatches } from '#src/platform/db/prune.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Job } from '#src/platform/jobs/scheduler.js';
import { commonFields, type ListField, type Lists, listRequestOf } from '#src/platform/list-query/index.js';
import { instantOf } from '#src/platform/runtime/clock.js';
import { printJson } from '#src/platform/text/json.js';
import type { Idempotency } from '../../installation/index.js';
import type { DocumentsOfUnit } from '../documents/index.js';
import { transactionsApi } from './api.js';
import { stagedCall, type TransactionCaller } from './calls.js';
import { createTransactions, type Transactions } from './service.js';
import { transactionOwnerOf } from './states.js';
import { createTransactionStore, type Transaction, transactions as transactionTable } from './store.js';
import { toTransaction } from './view.js';

const fields = {
  ...commonFields,
  status: { column: 'status', type: 'text' },
  operations: { column: 'operations', type: 'integer' },
  expiresAt: { column: 'expires_at', type: 'instant' },
} as const satisfies Readonly<Record<string, ListField>>;

interface Deps {
  readonly documents: { readonly operations: readonly Operation[]; readonly within: (unit: Unit) => DocumentsOfUnit };
  readonly idempotency: Idempotency;
  readonly lists: Lists;
}

/** Document transactions. `operations` includes the document operations, which can be staged in a transaction. */
export function createTransactionsFeature(
  runtime: Pick<Runtime, 'db' | 'sql' | 'clock' | 'random' | 'sealing'>,
  { documents, idempotency, lists }: Deps,
) {
  const { db, sql, clock, random } = runtime;
  const store = createTransactionStore(sql);
  const { operations, within } = documents;
  const transactions = createTransactions(runtime, { store, operations, within });
  const keep =
    ({ request }: TransactionCaller, status: number) =>
    async (unit: Unit, transaction: Transaction) =>
      idempotency.keep(unit, request.idempotent, status, printed(transaction));
  const prune: Job = {
    name: 'transactions.prune',
    schedule: '0 55 * * * *',
    summary: `Deletes transactions that expired more than ${transactionLimits.keptHours} hour ago`,
    lease: 'database',
    run: async (signal) => {
      const by = { projectId: null, actor: { kind: 'job', id: 'transactions.prune' }, requestId: random.id() };
      const before = instantOf(clock.now() - transactionLimits.keptHours * 3_600_000);
      await pruneInBatches(db, by, signal, (limit) => store.prune(before, limit));
    },
  };
  return {
    jobs: [prune],
    /** Deletes the transactions of a user with their staged operations. */
    forgetUser: async (by: AuditContext, projectId: string, userId: string): Promise<void> => {
      await db.work(by, (unit) => unit.run(store.ofOwner(projectId, `user:${userId}`)));
    },
    operations: [
      ...implement(transactionsApi, {
        create: async (call) => toTransaction(await transactions.begin(call, call.body.ttl)),
        list: async (call) => {
          const listing = {
            rows: store.rows(call.project.id, transactionOwnerOf(call)),
            select: transactionTable.row,
            fields,
          };
          const { total, rows } = await lists.read(db, listing, listRequestOf(call));
          return { total, transactions: rows.map((row) => toTransaction(transactionTable.decode(row))) };
        },
        get: async (call) => toTransaction(await transactions.get(db, call, call.params.transactionId)),
        update: async (call) => {
          const { commit, rollback } = call.body;
          if ((commit === true) === (rollback === true))
            throw new Failure('general_bad_request', { message: 'Send either `commit: true` or `rollback: true`.' });
          const act = commit === true ? transactions.commit : transactions.rollBack;
          return printed(await act(call, call.params.transactionId, keep(call, 200)));
        },
        delete: (call) => transactions.remove(call, call.params.transactionId),
        createOperations: async (call) => {
          const { operations: given } = call.body;
          return printed(await transactions.stageListed(call, call.params.transactionId, given, keep(call, 201)));
        },
      }),
      ...operations.map((operation) => joining(operation, transactions, idempotency, () => random.id())),
    ],
  };
}

/** A transaction as printed JSON. Responses for idempotent retries are stored in this form. */
function printed(transaction: Transaction): RawJson {
  return new RawJson(printJson(toTransaction(transaction)));
}

/** Wraps an operation: it is staged if the request contains a `transactionId`. */
function joining(
  operation: Operation,
  transactions: Transactions,
  idempotency: Idempotency,
  newId: () => string,
): Operation {
  const { id, method, reply } = operation.declaration;
  const read = async (call: Call, transactionId: string) => {
    // A list can take seconds, and a unit of work blocks all other writers until it ends.
    if (id === 'documents.list' && call.actor.kind !== 'key')
      throw new Failure('general_unauthorized_scope', { message: 'Only a server key can list within a transaction.' });
    return transactions.read(call, transactionId, id, call);
  };
  const stage = async (call: Call, transactionId: string) => {
    const staged = await transactions.stage(call, transactionId, stagedCall(id, call, newId), (unit, answer) =>
      // It may show values of encrypted attributes, of whatever collection.
      idempotency.keep(unit, call.request.idempotent, reply.status, untagged(answer), true),
    );
    return untagged(staged);
  };
  return {
    ...operation,
    handle: (call) => {
      const said = (method === 'GET' ? call.query : call.body) as
        | { readonly transactionId?: string | null }
        | undefined;
      const transactionId = said?.transactionId ?? undefined;
      if (transactionId === undefined) return operation.handle(call);
      if (call.actor.kind === 'guest') throw new Failure('transaction_not_found');
      return method === 'GET' ? read(call, transactionId) : stage(call, transactionId);
    },
  };
}

/** Removes the entity tag: no later request could use it, as the document is not committed yet. */
function untagged(answer: unknown): unknown {
  return answer instanceof RawJson ? new RawJson(answer.parts, answer.status) : answer;
}
