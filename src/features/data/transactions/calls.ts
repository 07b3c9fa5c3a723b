import { Failure } from '#src/contract/errors.js';
import { type Call, invoke, type Operation } from '#src/contract/operation.js';
import { uniqueId } from '#src/contract/shapes.js';
import { type Action, actionOf, type GivenOperation, operationIds, requestPartsOf } from './actions.js';

/** The project, actor and request that use a transaction. */
export type TransactionCaller = Pick<Call, 'project' | 'request'> & { readonly actor: Call['actor'] };

/** A validated request that is staged until the commit. `unique()` is already replaced by an id. */
export interface StagedCall {
  readonly action: Action;
  readonly params: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

type NewId = () => string;

/** Converts a request with a `transactionId` to a staged call. */
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

/** Converts a listed operation to a staged call. Authorises and validates it like the equivalent request. Throws Failure. */
export async function listedCall(
  operations: readonly Operation[],
  caller: TransactionCaller,
  given: GivenOperation,
  newId: NewId,
): Promise<StagedCall> {
  const operation = operationNamed(operations, operationIds[given.action]);
  let call: StagedCall | undefined;
  const handle: Operation['handle'] = (valid) => {
    call = stagedCall(operation.declaration.id, valid, newId);
  };
  const { project, actor, request } = caller;
  await invoke({ ...operation, handle }, { project, actor, request, query: {}, ...requestPartsOf(given) });
  if (call === undefined) throw new Error('an operation that is valid must be handled');
  return call;
}

/** Finds a document operation. */
export function operationNamed(operations: readonly Operation[], id: string): Operation {
  const operation = operations.find(({ declaration }) => declaration.id === id);
  if (operation === undefined) throw new Error(`there is no operation ${id}`);
  return operation;
}

/** Adds the position and target of the operation to a failure. */
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

/** Runs `act` and adds the position and target of the operation to a client error (status below 500), which `wrap` converts. */
export async function named<T>(
  position: number,
  call: Pick<StagedCall, 'action' | 'params'>,
  act: () => Promise<T>,
  wrap: (failure: Failure) => Error = (failure) => failure,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof Failure && error.status < 500 ? wrap(failureAt(error, position, call)) : error;
  }
}

/** The id of the single document that the call changes, and if the call creates it. Undefined for several documents. */
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

/** The value itself if it is an object, else an empty object. */
function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
