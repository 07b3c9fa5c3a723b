import { Failure } from '#src/contract/errors.js';
import type { Project } from '#src/contract/project.js';
import { isSealed, type SealedAad } from '#src/platform/crypto/sealing.js';
import { jsonText } from '#src/platform/db/table.js';
import type { Runtime } from '#src/platform/index.js';
import type { StagedCall } from './calls.js';
import { type StagedOperation, stagedOperations } from './store.js';

type Position = Pick<StagedOperation, 'transactionId' | 'position'>;

/** Staged calls as their rows keep them: sealed, as they may contain values of encrypted attributes, of whatever collection. */
export interface SealedCalls {
  close(project: Project, at: Position, call: StagedCall): string;
  /** Throws Failure if the call does not open. */
  open(project: Project, operation: StagedOperation): StagedCall;
}

const calls = jsonText<StagedCall>();

/** Creates the sealing of staged calls. */
export function createSealedCalls({ sealing }: Pick<Runtime, 'sealing'>): SealedCalls {
  return {
    close: ({ id, dataKey }, at, call) => sealing.seal(id, dataKey, aadOf(at), String(calls.encode(call))),
    open: ({ id, dataKey }, { call, ...at }) => {
      // Earlier versions kept the JSON itself.
      const text = isSealed(call) ? sealing.tryOpen(id, dataKey, aadOf(at), call) : call;
      if (text === undefined)
        throw new Failure('general_unavailable', {
          message: 'An operation of the transaction is damaged in the database.',
        });
      return calls.decode(text);
    },
  };
}

function aadOf({ transactionId, position }: Position): SealedAad {
  return { column: { table: stagedOperations.name, column: 'call' }, row: `${transactionId}/${position}` };
}
