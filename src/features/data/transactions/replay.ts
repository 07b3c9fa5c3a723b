import { Failure } from '#src/contract/errors.js';
import { transactionLimits } from '#src/contract/limits.js';
import { type Call, type RequestFacts, readFactsOf } from '#src/contract/operation.js';
import type { ByteAllowance, ResponseBudget } from '#src/contract/response-budget.js';
import { Allowance } from '#src/platform/admission/byte-allowance.js';
import type { Unit } from '#src/platform/db/unit.js';
import type { DocumentsOfUnit, NamedChange } from '../documents/index.js';
import { operationIds } from './actions.js';
import { documentOf, failureAt, named, operationNamed, type StagedCall, type TransactionCaller } from './calls.js';

/** A staged operation with the state of its document at that time; null if the state does not matter. */
export interface Staged {
  readonly call: StagedCall;
  readonly base: string | null;
}

/** Error for a refused operation: the transaction cannot be committed. */
export class FailedOperation extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message, { cause: failure });
    this.name = 'FailedOperation';
    this.failure = failure;
  }
}

/** A document in the body of a staged call. */
interface Given {
  readonly id: string;
  readonly data?: unknown;
}

/** Applies the operations of a transaction in order, in a unit of work. */
export interface Replay {
  /** Applies staged operations. Throws FailedOperation for the first one that is refused. */
  all(staged: readonly Staged[]): Promise<void>;
  /** Applies one call and returns its response. Throws the errors of the operation. */
  one(call: StagedCall, ifMatch?: string): Promise<unknown>;
  /** Reads documents as the transaction sees them. */
  read(operationId: string, call: Pick<Call, 'params' | 'query'>): Promise<unknown>;
  /** Called before any call is applied. Blocks other changes of several documents in the databases of the calls. */
  lock(calls: readonly StagedCall[]): Promise<void>;
  /** Throws FailedOperation if a document has changed since an operation on it was staged. */
  requireUnchanged(staged: readonly Staged[]): Promise<void>;
  /** Number of documents changed so far. */
  changed(): number;
  /**
   * The state of the document of a call. Null if the call creates it, changes several documents or follows another call on the same
   * document. Also null for an increment, which applies to any value at the commit.
   */
  baseOf(call: StagedCall, before: readonly StagedCall[]): Promise<string | null>;
}

/** A unit of work for the operations of one caller. */
interface Scope extends Pick<TransactionCaller, 'project' | 'actor'> {
  readonly documents: DocumentsOfUnit;
  readonly facts: RequestFacts;
}

/** Creates a replay in a unit of work. */
export function createReplay(
  within: (unit: Unit) => DocumentsOfUnit,
  unit: Unit,
  caller: TransactionCaller,
  bytes: ByteAllowance = new Allowance(transactionLimits.documentBytes),
): Replay {
  const counted = bounded(unit);
  const { project, actor } = caller;
  // `ifMatch` and idempotency apply to the whole request.
  const facts = { ...caller.request, budget: budgetOf(bytes), ifMatch: undefined, idempotent: undefined };
  const scope: Scope = { documents: within(counted.unit), project, actor, facts };
  return {
    changed: counted.documents,
    all: async (staged) => {
      for (const [position, { call }] of staged.entries()) await requireDone(position, call, () => one(scope, call));
    },
    one: (call, ifMatch) => one(scope, call, ifMatch),
    read: (operationId, call) => read(scope, operationId, call),
    lock: (calls) =>
      scope.documents.lock(
        calls.map(({ params }) => ({ projectId: project.id, databaseId: String(params.databaseId) })),
      ),
    requireUnchanged: (staged) => requireUnchanged(scope, staged),
    baseOf: (call, before) => baseOf(scope, call, before),
  };
}

async function one(
  { documents, project, actor, facts }: Scope,
  { action, params, body }: StagedCall,
  ifMatch?: string,
): Promise<unknown> {
  const request = ifMatch === undefined ? facts : { ...facts, ifMatch };
  // Params and body were validated when the call was staged.
  const call = { project, actor, params, query: {}, body, request } as unknown as Call;
  return operationNamed(documents.operations, operationIds[action]).handle(call);
}

async function read(
  { documents, project, actor, facts }: Scope,
  operationId: string,
  { params, query }: Pick<Call, 'params' | 'query'>,
): Promise<unknown> {
  const call = { project, actor, params, query, body: undefined, request: facts } as unknown as Call;
  return operationNamed(documents.operations, operationId).handle(call);
}

async function requireUnchanged(scope: Scope, staged: readonly Staged[]): Promise<void> {
  for (const [position, { call, base }] of staged.entries()) {
    const id = documentOf(call)?.id;
    if (base === null || id === undefined) continue;
    const state = await requireDone(position, call, () => scope.documents.tagOf(whereOf(scope, call), id));
    if (state !== base) throw new FailedOperation(failureAt(new Failure('transaction_conflict'), position, call));
  }
}

async function baseOf(scope: Scope, call: StagedCall, before: readonly StagedCall[]): Promise<string | null> {
  const document = documentOf(call);
  if (document === undefined || document.isNew || isIncrement(call)) return null;
  if (before.some((other) => isSameDocument(call, other) && !isIncrement(other))) return null;
  // Documents that the caller may not change are not locked: the operation will be refused.
  for (const change of changesOf(scope, call)) if (!(await scope.documents.mayChange(change))) return null;
  return scope.documents.tagOf(whereOf(scope, call), document.id);
}

/** Documents named in a call. */
function changesOf(scope: Scope, call: StagedCall): NamedChange[] {
  const { action, body } = call;
  const id = documentOf(call)?.id;
  const isOfMany = (action === 'bulkCreate' || action === 'bulkUpsert') && Array.isArray(body.documents);
  const given: readonly Given[] = isOfMany ? (body.documents as Given[]) : id === undefined ? [] : [{ ...body, id }];
  const isRemoved = action === 'delete';
  return given.map(({ id: each }) => ({ where: whereOf(scope, call), id: each, isRemoved }));
}

function whereOf({ project, actor, facts }: Scope, { params: { databaseId, collectionId } }: StagedCall) {
  const place = { databaseId: String(databaseId), collectionId: String(collectionId) };
  return { project, actor, ...place, ...readFactsOf(facts) };
}

/** Runs `act` and throws FailedOperation for a client error. */
function requireDone<T>(position: number, call: StagedCall, act: () => Promise<T>): Promise<T> {
  return named(position, call, act, (failure) => new FailedOperation(failure));
}

/** A budget of bytes that the request has already. It never blocks: a unit of work may await SQL only. */
function budgetOf(bytes: ByteAllowance): ResponseBudget {
  return {
    share: () => {},
    // Response bytes are claimed from the budget of the request, not from this one.
    claim: () => () => {},
    write: () => {},
    read: (attempt) => attempt(bytes),
  };
}

/** Wraps a unit: refuses changes beyond the limits of a transaction. */
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
          message: ({ documents }) =>
            `A transaction changes at most ${transactionLimits.documents} ${documents} of ${transactionLimits.documentBytes} bytes together.`,
        });
      unit.record(event, recorded);
    },
  };
  return { unit: inner, documents: () => documents };
}

function isIncrement({ action }: StagedCall): boolean {
  return action === 'increment' || action === 'decrement';
}

function isSameDocument(one: StagedCall, other: StagedCall): boolean {
  return (
    one.params.databaseId === other.params.databaseId &&
    one.params.collectionId === other.params.collectionId &&
    documentOf(one)?.id === documentOf(other)?.id
  );
}
