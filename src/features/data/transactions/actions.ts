import { Failure } from '#src/contract/errors.js';

/** Actions as clients name them, with the ids of the document operations that do the same outside a transaction. */
export const operationIds = {
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

/** An action of a staged operation. */
export type Action = keyof typeof operationIds;

/** The names of all actions. */
export const actions = Object.keys(operationIds) as [Action, ...Action[]];

/** The action of a document operation; undefined if it changes nothing. */
export function actionOf(operationId: string, body: unknown): Action | undefined {
  if (operationId === operationIds.create)
    return isObject(body) && body.documents !== undefined ? 'bulkCreate' : 'create';
  return actions.find((action) => operationIds[action] === operationId);
}

/** An operation as clients send it. */
export interface GivenOperation {
  readonly databaseId: string;
  readonly collectionId: string;
  readonly documentId?: string | null | undefined;
  readonly action: Action;
  readonly data?: unknown;
}

/** Request parts for the equivalent document operation, not validated yet. Throws Failure `transaction_invalid`. */
export function requestPartsOf(given: GivenOperation): { readonly params: object; readonly body: object } {
  const { action, databaseId, collectionId, data } = given;
  const place = { databaseId, collectionId };
  if (action === 'bulkCreate' || action === 'bulkUpsert') return { params: place, body: { documents: data } };
  const members = membersOf(data);
  if (members !== undefined && !isObject(members)) throw invalid('`data` must be an object.');
  const { queries, data: inner } = members ?? {};
  // Queries are required: without them, the operation would match every document.
  if (action === 'bulkUpdate')
    return { params: place, body: { queries: requireValue(queries, 'data.queries'), data: inner } };
  if (action === 'bulkDelete') return { params: place, body: { queries: requireValue(queries, 'data.queries') } };
  const documentId = requireValue(given.documentId, 'documentId');
  const { $permissions: permissions, ...attributes } = members ?? {};
  const content = { ...(members === undefined ? {} : { data: attributes }), permissions };
  if (action === 'create') return { params: place, body: { documentId, ...content } };
  const document = { ...place, documentId };
  if (action === 'increment' || action === 'decrement') {
    const { attribute, column, ...step } = members ?? {};
    return { params: { ...document, attribute: requireValue(attribute ?? column, 'data.attribute') }, body: step };
  }
  return { params: document, body: action === 'delete' ? {} : content };
}

/** Converts an empty list to an empty object: PHP serialises `{}` as `[]`. */
function membersOf(data: unknown): unknown {
  if (data === undefined || data === null) return undefined;
  return Array.isArray(data) && data.length === 0 ? {} : data;
}

function requireValue(value: unknown, name: string): unknown {
  if (value === undefined || value === null) throw invalid(`\`${name}\` is not optional for this action.`);
  return value;
}

function invalid(message: string): Failure {
  return new Failure('transaction_invalid', { message });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
