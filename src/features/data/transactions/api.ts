import { z } from 'zod';
import { declare, empty, json, rawJson, usersAndKeys } from '#src/contract/declaration.js';
import { errorCatalog } from '#src/contract/errors.js';
import { bodySizes, bulkLimits, transactionLimits } from '#src/contract/limits.js';
import { customId, newId } from '#src/contract/shapes.js';
import { listParameters } from '#src/platform/list-query/api.js';
import { documentWriteErrors } from '../documents/index.js';
import { actions } from './actions.js';
import { transactionShape } from './view.js';

const common = { tag: 'databases', limits: { calls: 'data' } } as const;
const read = { ...common, method: 'GET', access: usersAndKeys('documents.read') } as const;
const write = { ...common, access: usersAndKeys('documents.write') } as const;
const transactionPath = '/databases/transactions';
const ofTransaction = z.object({ transactionId: customId });

/** An operation as clients send it. */
const operationShape = z.object({
  databaseId: customId,
  collectionId: customId,
  documentId: newId.nullish(),
  action: z.enum(actions),
  data: z
    .union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown())).max(bulkLimits.given)])
    .nullish()
    .meta({ description: 'What the operation takes: attributes, documents, or queries with data' }),
});

/** Document transactions. Only the user or server key that began one can use it. */
export const transactionsApi = declare({
  create: {
    ...write,
    id: 'databases.createTransaction',
    method: 'POST',
    path: transactionPath,
    summary: 'Begins a transaction.',
    input: {
      body: z.object({
        ttl: z
          .int()
          .min(transactionLimits.minSeconds)
          .max(transactionLimits.maxSeconds)
          .nullish()
          .transform((ttl) => ttl ?? transactionLimits.seconds)
          .meta({ description: 'Seconds until it expires' }),
      }),
    },
    reply: { status: 201, shape: json(transactionShape), errors: ['transaction_limit_exceeded'] },
  },
  list: {
    ...read,
    id: 'databases.listTransactions',
    path: transactionPath,
    summary: 'Lists the transactions of the caller.',
    input: { query: z.object(listParameters) },
    reply: {
      status: 200,
      shape: json(
        z.object({ total: z.int(), transactions: z.array(transactionShape) }).meta({ id: 'TransactionList' }),
      ),
      bound: 'budget',
      errors: ['general_cursor_not_found'],
    },
  },
  get: {
    ...read,
    id: 'databases.getTransaction',
    path: `${transactionPath}/:transactionId`,
    summary: 'Reads a transaction.',
    input: { params: ofTransaction },
    reply: { status: 200, shape: json(transactionShape), errors: ['transaction_not_found'] },
  },
  update: {
    ...write,
    id: 'databases.updateTransaction',
    method: 'PATCH',
    path: `${transactionPath}/:transactionId`,
    summary: 'Commits a transaction or rolls it back.',
    idempotent: true,
    input: {
      params: ofTransaction,
      body: z.object({ commit: z.boolean().nullish(), rollback: z.boolean().nullish() }),
    },
    reply: {
      status: 200,
      shape: rawJson(transactionShape),
      // Other conflicts (409) mean that the data changed concurrently; the commit reports them as `transaction_conflict`.
      errors: documentWriteErrors.filter(
        (type) => type.startsWith('transaction_') || errorCatalog[type].status !== 409,
      ),
    },
  },
  delete: {
    ...write,
    id: 'databases.deleteTransaction',
    method: 'DELETE',
    path: `${transactionPath}/:transactionId`,
    summary: 'Deletes a transaction; one that is open is rolled back.',
    input: { params: ofTransaction },
    reply: { status: 204, shape: empty, errors: ['transaction_not_found'] },
  },
  createOperations: {
    ...write,
    id: 'databases.createOperations',
    method: 'POST',
    path: `${transactionPath}/:transactionId/operations`,
    summary: 'Adds operations to a transaction, all or none.',
    idempotent: true,
    limits: { ...write.limits, bodyBytes: bodySizes.documents },
    input: {
      params: ofTransaction,
      body: z.object({ operations: z.array(operationShape).min(1).max(transactionLimits.operations) }),
    },
    reply: { status: 201, shape: rawJson(transactionShape), errors: [...documentWriteErrors, 'transaction_invalid'] },
  },
});
