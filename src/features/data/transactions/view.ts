import { z } from 'zod';
import { toWireInstant, wireInstant } from '#src/contract/shapes.js';
import { statuses, type Transaction } from './store.js';

/** A transaction on the wire. */
export const transactionShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    $updatedAt: wireInstant,
    status: z.enum(statuses),
    operations: z.int(),
    expiresAt: wireInstant,
  })
  .meta({ id: 'Transaction' });

/** Prints a transaction. */
export function toTransaction(transaction: Transaction): z.input<typeof transactionShape> {
  return {
    $id: transaction.id,
    $createdAt: toWireInstant(transaction.createdAt),
    $updatedAt: toWireInstant(transaction.updatedAt),
    status: transaction.status,
    operations: transaction.operations,
    expiresAt: toWireInstant(transaction.expiresAt),
  };
}
