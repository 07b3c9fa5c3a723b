import { Failure } from '#src/contract/errors.js';
import { type Call, invoke, type Operation, type RequestFacts } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import { type Action, actionOf, type GivenOperation, operationIdOf, partsOf } from './actions.js';

/** On whose behalf a transaction is used. */
export type Caller = Pick<Call, 'project' | 'request'> & { readonly actor: Call['actor'] };

/** A validated request that waits for the commit: what it said, and ids instead of `unique()`. */
export interface StagedCall {
  readonly action: Action;
  readonly params: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Makes ids. */
type NewId = () => string;

/** The call of a request that is part of a transaction. */
export function stagedCall(
  operationId: string,
  { params, body }: Pick<Call, 'params' | 'body'>,
  newId: NewId,
): StagedCall {
  const action = actionOf(operationId, body);
  if (action === undefined) throw new Error(`${operationId} changes nothing`);
  const { transactionId: _, ...said } = asObject(body);
  return { action, params: asObject(params), body: withIds(said, newId) };
}

/** The call of an operation that a request lists, authorised and validated as the request that does the same at once. Throws Failure. */
export async function listedCall(
  operations: readonly Operation[],
  caller: Caller,
  given: GivenOperation,
  newId: NewId,
): Promise<StagedCall> {
  const operation = operationNamed(operations, given.action);
  let call: StagedCall | undefined;
  const handle: Operation['handle'] = (valid) => {
    call = stagedCall(operation.declaration.id, valid, newId);
  };
  const { project, actor, request } = caller;
  await invoke({ ...operation, handle }, { project, actor, request, query: {}, ...partsOf(given) });
  if (call === undefined) throw new Error('an operation that is valid must be handled');
  return call;
}

/** Finds the operation that does what a staged call says. */
export function operationNamed(operations: readonly Operation[], action: Action): Operation {
  const id = operationIdOf(action);
  const operation = operations.find(({ declaration }) => declaration.id === id);
  if (operation === undefined) throw new Error(`there is no operation ${id}`);
  return operation;
}

/** The same failure with the operation that it is of. */
export function failureAt(
  failure: Failure,
  position: number,
  { action, params }: Pick<StagedCall, 'action' | 'params'>,
): Failure {
  const { databaseId, collectionId, documentId } = params;
  const place = [databaseId, collectionId, documentId].filter((part) => part !== undefined).join('/');
  const type = failure.status === 409 && failure.type.startsWith('general_') ? 'transaction_conflict' : failure.type;
  return new Failure(type, {
    message: `Operation ${position + 1} (${action} in ${place}): ${failure.message}`,
    cause: failure,
  });
}

/** Names the operation of a list that is refused. */
export async function named<T>(
  position: number,
  call: Pick<StagedCall, 'action' | 'params'>,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof Failure && error.status < 500 ? failureAt(error, position, call) : error;
  }
}

/** The facts of the request, for an operation of its transaction. */
export function factsOf({ request }: Caller, answer: RequestFacts['answer']): RequestFacts {
  return { ...request, answer, ifMatch: undefined, idempotent: undefined };
}

/** The id of the one document that the call is about, and whether it creates it. */
export function documentOf({
  action,
  params,
  body,
}: StagedCall): { readonly id: string; readonly isNew: boolean } | undefined {
  if (action === 'create') return { id: String(body.documentId), isNew: true };
  return params.documentId === undefined ? undefined : { id: String(params.documentId), isNew: false };
}

function withIds(body: Readonly<Record<string, unknown>>, newId: NewId): Readonly<Record<string, unknown>> {
  const { documentId, documents } = body;
  if (documentId === uniqueId) return { ...body, documentId: newId() };
  if (!Array.isArray(documents)) return body;
  return { ...body, documents: documents.map((one) => (one.id === uniqueId ? { ...one, id: newId() } : one)) };
}

/** A value as the object that it is; what is none, as an empty one. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
