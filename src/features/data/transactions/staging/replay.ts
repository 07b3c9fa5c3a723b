import { type AnswerRoom, type Look, mapLook } from '#src/contract/answer-room.js';
import { Failure } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import type { Call } from '#src/contract/operation.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { DocumentsOfUnit, HeldChange, HeldMatch } from '../../documents/index.js';
import { asObject, type Caller, documentOf, factsOf, failureAt, operationNamed, type StagedCall } from './calls.js';

/** A staged operation, and the state that its document had when it was staged; null where that does not matter. */
export interface Staged {
  readonly call: StagedCall;
  readonly base: string | null;
}

/** An operation of a transaction was refused, so the whole cannot be committed. */
export class FailedOperation extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message, { cause: failure });
    this.name = 'FailedOperation';
    this.failure = failure;
  }
}

/** More bytes are needed than a read was given. */
class TooFewBytes extends Error {
  readonly needed: number;

  constructor(needed: number) {
    super('the answer needs more room');
    this.name = 'TooFewBytes';
    this.needed = needed;
  }
}

/** A document as a staged call has it. */
interface Given {
  readonly id: string;
  readonly data?: unknown;
}

/** Operations of a transaction, one after the other in a unit of work. */
export interface Replay {
  /** Carries staged operations out. Throws FailedOperation for the first that is refused. */
  all(staged: readonly Staged[]): Promise<void>;
  /** Carries one out and returns its answer. Throws what the operation throws. */
  one(call: StagedCall, ifMatch?: string): Promise<unknown>;
  /** Reads as the transaction sees the documents. */
  read(operationId: string, call: Pick<Call, 'params' | 'query'>): Promise<unknown>;
  /** Locks what the calls will change, so that two transactions that change the same documents in another order do not wait for each other. */
  hold(calls: readonly StagedCall[]): Promise<void>;
  /** Throws FailedOperation where a document is no more what it was when an operation on it was staged. */
  demandUnchanged(staged: readonly Staged[]): Promise<void>;
  /** How many documents were changed so far. */
  changed(): number;
  /** The state of the document of a call; null where the call makes it, where it is about several, or where one before was about the same. */
  baseOf(call: StagedCall, before: readonly StagedCall[]): Promise<string | null>;
}

/** Begins to carry out operations of a transaction. */
export function createReplay(
  within: (unit: Unit) => DocumentsOfUnit,
  unit: Unit,
  caller: Caller,
  room: AnswerRoom = roomOf(transactionLimits.documentBytes),
): Replay {
  const counted = bounded(unit);
  const { operations, hold, mayChange, tagOf } = within(counted.unit);
  const facts = factsOf(caller, room);
  const { project, actor } = caller;
  const one: Replay['one'] = async ({ action, params, body }, ifMatch) => {
    const request = ifMatch === undefined ? facts : { ...facts, ifMatch };
    // What was staged was validated then, in the form that the handler takes.
    const call = { project, actor, params, query: {}, body, request } as unknown as Call;
    return operationNamed(operations, action).handle(call);
  };
  const whereOf = ({ params: { databaseId, collectionId } }: StagedCall) => {
    const place = { databaseId: String(databaseId), collectionId: String(collectionId) };
    return { project, actor, ...place, reading: facts.reading, room };
  };
  const stateOf = (call: StagedCall, id: string) => tagOf(whereOf(call), id);
  /** The documents that a call names. */
  const changesOf = (call: StagedCall): HeldChange[] => {
    const { action, body } = call;
    const id = documentOf(call)?.id;
    const isOfMany = (action === 'bulkCreate' || action === 'bulkUpsert') && Array.isArray(body.documents);
    const given: readonly Given[] = isOfMany ? (body.documents as Given[]) : id === undefined ? [] : [{ ...body, id }];
    return given.map((one) => ({
      where: whereOf(call),
      id: one.id,
      data: asObject(one.data),
      isRemoved: action === 'delete',
    }));
  };
  /** The documents that a call finds by queries. */
  const matchesOf = (call: StagedCall): HeldMatch[] => {
    const { action, body } = call;
    if (action !== 'bulkUpdate' && action !== 'bulkDelete') return [];
    return [{ where: whereOf(call), queries: Array.isArray(body.queries) ? body.queries.map(String) : [] }];
  };
  const named = async <T>(position: number, call: StagedCall, act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Failure) || error.status >= 500) throw error;
      throw new FailedOperation(failureAt(error, position, call));
    }
  };
  return {
    one,
    changed: counted.documents,
    all: async (staged) => {
      for (const [position, { call }] of staged.entries()) await named(position, call, () => one(call));
    },
    read: async (operationId, { params, query }) => {
      const operation = operations.find(({ declaration }) => declaration.id === operationId);
      if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
      return operation.handle({ project, actor, params, query, body: undefined, request: facts } as unknown as Call);
    },
    hold: (calls) => hold(calls.flatMap(changesOf), calls.flatMap(matchesOf)),
    demandUnchanged: async (staged) => {
      for (const [position, { call, base }] of staged.entries()) {
        const id = documentOf(call)?.id;
        if (base === null || id === undefined) continue;
        const state = await named(position, call, () => stateOf(call, id));
        if (state !== base) throw new FailedOperation(failureAt(new Failure('transaction_conflict'), position, call));
      }
    },
    baseOf: async (call, before) => {
      const document = documentOf(call);
      if (document === undefined || document.isNew || before.some((other) => isSameDocument(call, other))) return null;
      // What the caller may not change is not locked for it: the operation is refused.
      for (const change of changesOf(call)) if (!(await mayChange(change))) return null;
      return stateOf(call, document.id);
    },
  };
}

/** Reads in an answer's room, in a unit of work that is taken back: what lacks bytes is read once more, with as many as it needs. */
export function readInRoom<T>(room: AnswerRoom, read: (inner: AnswerRoom) => Promise<T>): Promise<T> {
  return room.read(async (maxBytes): Promise<Look<T>> => {
    const inner = roomOf(maxBytes);
    try {
      const value = await read(inner);
      return mapLook({ bytes: inner.taken(), value }, (result) => result);
    } catch (error) {
      if (error instanceof TooFewBytes) return { bytes: error.needed };
      throw error;
    }
  });
}

/** A room that nobody waits for: a unit of work awaits only SQL. */
function roomOf(maxBytes: number): AnswerRoom & { readonly taken: () => number } {
  let taken = 0;
  return {
    taken: () => taken,
    share: () => {},
    // What is answered is read in a room of its own.
    claim: () => () => {},
    write: () => {},
    read: async (look) => {
      const { bytes, value } = await look(maxBytes - taken);
      if (value === undefined) throw new TooFewBytes(taken + bytes);
      taken += bytes;
      return value;
    },
  };
}

/** A unit that refuses to change more documents than a transaction may. */
function bounded(unit: Unit): { readonly unit: Unit; readonly documents: () => number } {
  let documents = 0;
  let bytes = 0;
  const inner: Unit = {
    ...unit,
    record: (event, recorded) => {
      documents += 1;
      bytes += Buffer.byteLength(recorded.announce ?? '');
      if (documents > transactionLimits.documents || bytes > transactionLimits.documentBytes)
        throw new Failure('transaction_limit_exceeded', {
          message: `A transaction changes at most ${transactionLimits.documents} documents of ${transactionLimits.documentBytes} bytes together.`,
        });
      unit.record(event, recorded);
    },
  };
  return { unit: inner, documents: () => documents };
}

function isSameDocument(one: StagedCall, other: StagedCall): boolean {
  return (
    one.params.databaseId === other.params.databaseId &&
    one.params.collectionId === other.params.collectionId &&
    documentOf(one)?.id === documentOf(other)?.id
  );
}
