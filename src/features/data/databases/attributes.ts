import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import { attributesApi } from './attribute-api.js';
import type { Listing } from './listing.js';
import type { Attribute, AttributeType } from './schema.js';
import type { AttributeDraft, Databases } from './service.js';
import { toAttribute, toIndex } from './view.js';

type Bound = number | bigint | null | undefined;
type Given = {
  key: string;
  required: boolean;
  array: boolean;
  default?: unknown;
  size?: number;
  elements?: string[];
  min?: Bound;
  max?: Bound;
};
type Change = Partial<Omit<Given, 'key' | 'array' | 'size' | 'elements'>> & {
  newKey?: string | undefined;
  size?: number | undefined;
  elements?: string[] | undefined;
};

/** Binds the operations on attributes and indexes. */
export function attributeOperations({ db }: Pick<Runtime, 'db'>, databases: Databases, listing: Listing) {
  type Where = { readonly databaseId: string; readonly collectionId: string };
  type Call = Parameters<typeof auditContextOf>[0] & {
    readonly project: { readonly id: string };
    readonly params: Where;
  };

  const create = async (call: Call, type: AttributeType, given: Given) => {
    const { databaseId, collectionId } = call.params;
    const draft: AttributeDraft = {
      key: given.key,
      type,
      required: given.required,
      array: given.array,
      default: given.default ?? null,
      ...(given.size === undefined ? {} : { size: given.size }),
      ...(given.elements === undefined ? {} : { elements: given.elements }),
      ...bounds(given),
    };
    return toAttribute(
      await db.work(auditContextOf(call), (unit) =>
        databases.createAttribute(unit, call.project.id, databaseId, collectionId, draft),
      ),
    );
  };
  const update = async (
    call: Call & { readonly params: Where & { readonly key: string } },
    type: AttributeType,
    given: Change,
  ) => {
    const { databaseId, collectionId, key } = call.params;
    const change: Partial<AttributeDraft> = {
      ...(given.required === undefined ? {} : { required: given.required }),
      default: given.default ?? null,
      key: given.newKey ?? key,
      ...(given.size === undefined ? {} : { size: given.size }),
      ...(given.elements === undefined ? {} : { elements: given.elements }),
      ...bounds(given),
    };
    const changed = await db.work(auditContextOf(call), (unit) =>
      databases.updateAttribute(unit, call.project.id, databaseId, collectionId, key, { type, change }),
    );
    return toAttribute(changed);
  };

  return implement(attributesApi, {
    createString: (call) => create(call, 'string', call.body),
    createInteger: (call) => create(call, 'integer', call.body),
    createFloat: (call) => create(call, 'double', call.body),
    createBoolean: (call) => create(call, 'boolean', call.body),
    createDatetime: (call) => create(call, 'datetime', call.body),
    createEmail: (call) => create(call, 'email', call.body),
    createUrl: (call) => create(call, 'url', call.body),
    createIp: (call) => create(call, 'ip', call.body),
    createEnum: (call) => create(call, 'enum', call.body),
    updateString: (call) => update(call, 'string', call.body),
    updateInteger: (call) => update(call, 'integer', call.body),
    updateFloat: (call) => update(call, 'double', call.body),
    updateBoolean: (call) => update(call, 'boolean', call.body),
    updateDatetime: (call) => update(call, 'datetime', call.body),
    updateEmail: (call) => update(call, 'email', call.body),
    updateUrl: (call) => update(call, 'url', call.body),
    updateIp: (call) => update(call, 'ip', call.body),
    updateEnum: (call) => update(call, 'enum', call.body),
    list: async ({ project, params, query }) => {
      const { total, items } = await listing.attributes(project, params, query);
      return { total, attributes: items.map(toAttribute) };
    },
    get: async ({ project, params }) =>
      toAttribute(
        databases.attributeOf(
          await databases.getCollection(db, project.id, params.databaseId, params.collectionId),
          params.key,
        ),
      ),
    delete: (call) =>
      db.work(auditContextOf(call), (unit) =>
        databases.removeAttribute(
          unit,
          call.project.id,
          call.params.databaseId,
          call.params.collectionId,
          call.params.key,
        ),
      ),
    createIndex: async (call) => {
      const { key, type, attributes, orders } = call.body;
      const draft = {
        key,
        type,
        attributes,
        orders: attributes.map((_, at) => (orders[at]?.toUpperCase() === 'DESC' ? 'DESC' : 'ASC') as 'ASC' | 'DESC'),
      };
      return toIndex(
        await db.work(auditContextOf(call), (unit) =>
          databases.createIndex(unit, call.project.id, call.params.databaseId, call.params.collectionId, draft),
        ),
      );
    },
    listIndexes: async ({ project, params, query }) => {
      const { total, items } = await listing.indexes(project, params, query);
      return { total, indexes: items.map(toIndex) };
    },
    getIndex: async ({ project, params }) =>
      toIndex(
        databases.indexOf(
          await databases.getCollection(db, project.id, params.databaseId, params.collectionId),
          params.key,
        ),
      ),
    deleteIndex: (call) =>
      db.work(auditContextOf(call), (unit) =>
        databases.removeIndex(unit, call.project.id, call.params.databaseId, call.params.collectionId, call.params.key),
      ),
  });
}

function bounds({ min, max }: { min?: Bound; max?: Bound }): Pick<Attribute, 'min' | 'max'> {
  return {
    ...(min === undefined || min === null ? {} : { min: String(min) }),
    ...(max === undefined || max === null ? {} : { max: String(max) }),
  };
}
