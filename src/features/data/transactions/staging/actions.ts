import { Failure } from '#src/contract/errors.js';

/** What operations of a transaction do, as clients name it, and the operations on documents that do the same at once. */
const operationOf = {
  create: 'documents.create',
  update: 'documents.update',
  upsert: 'documents.upsert',
  delete: 'documents.delete',
  increment: 'documents.increment',
  decrement: 'documents.decrement',
  bulkCreate: 'documents.create',
  bulkUpdate: 'documents.updateAll',
  bulkUpsert: 'documents.upsertAll',
  bulkDelete: 'documents.deleteAll',
} as const;

/** What an operation of a transaction does. */
export type Action = keyof typeof operationOf;

/** The names of what operations of a transaction do. */
export const actions = Object.keys(operationOf) as [Action, ...Action[]];

/** The id of the operation that does it. */
export function operationIdOf(action: Action): string {
  return operationOf[action];
}

/** What the call of an operation does; undefined for one that changes nothing. */
export function actionOf(operationId: string, body: unknown): Action | undefined {
  if (operationId === operationOf.create)
    return isObject(body) && body.documents !== undefined ? 'bulkCreate' : 'create';
  return actions.find((action) => operationOf[action] === operationId);
}

/** An operation as clients name it. */
export interface GivenOperation {
  readonly databaseId: string;
  readonly collectionId: string;
  readonly documentId?: string | null | undefined;
  readonly action: Action;
  readonly data?: unknown;
}

/** The parts of a request that does the same at once, not validated yet. Throws Failure `transaction_invalid`. */
export function partsOf(given: GivenOperation): { readonly params: object; readonly body: object } {
  const { action, databaseId, collectionId, data } = given;
  const place = { databaseId, collectionId };
  if (action === 'bulkCreate' || action === 'bulkUpsert') return { params: place, body: { documents: data } };
  const members = data === undefined || data === null ? undefined : data;
  if (members !== undefined && !isObject(members)) throw invalid('`data` must be an object.');
  const { queries, data: inner } = members ?? {};
  // Without queries every document would be meant, so they have to be there.
  if (action === 'bulkUpdate')
    return { params: place, body: { queries: demand(queries, 'data.queries'), data: inner } };
  if (action === 'bulkDelete') return { params: place, body: { queries: demand(queries, 'data.queries') } };
  const documentId = demand(given.documentId, 'documentId');
  const { $permissions: permissions, ...attributes } = members ?? {};
  const content = { ...(members === undefined ? {} : { data: attributes }), permissions };
  if (action === 'create') return { params: place, body: { documentId, ...content } };
  const document = { ...place, documentId };
  if (action === 'increment' || action === 'decrement') {
    const { attribute, column, ...step } = members ?? {};
    return { params: { ...document, attribute: demand(attribute ?? column, 'data.attribute') }, body: step };
  }
  return { params: document, body: action === 'delete' ? {} : content };
}

function demand(value: unknown, name: string): unknown {
  if (value === undefined || value === null) throw invalid(`\`${name}\` is not optional for this action.`);
  return value;
}

function invalid(message: string): Failure {
  return new Failure('transaction_invalid', { message });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
