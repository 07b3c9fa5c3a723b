import { auditContextOf, implement } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { Listing } from '../listing/index.js';
import { mapTypes } from '../model/attribute-types.js';
import { shownAttributeOf } from '../model/relation-sides.js';
import { indexOf, pathOf } from '../model/schema.js';
import type { Databases } from '../model/service.js';
import { toAttribute, toIndex } from '../model/view.js';
import type { WordBuilds } from '../service/fulltext.js';
import { attributesApi, changedAttributesApi, newAttributesApi } from './api.js';
import { attributeDraft, indexDraft, optionsOf } from './drafts.js';

type InCollection = Parameters<typeof pathOf>[0];
type OfPart = InCollection & Parameters<typeof auditContextOf>[0] & { readonly params: { readonly key: string } };

/** Binds the operations on attributes and indexes. */
export function attributeOperations(
  { db }: Pick<Runtime, 'db'>,
  { databases, listing, builds }: { databases: Databases; listing: Listing; builds: Pick<WordBuilds, 'begin'> },
) {
  const collectionOf = (call: InCollection) => databases.getCollection(db, pathOf(call));
  const remove = (call: OfPart, part: 'Attribute' | 'Index') =>
    db.work(auditContextOf(call), (unit) => databases[`remove${part}`](unit, pathOf(call), call.params.key));
  return [
    ...implement(
      newAttributesApi,
      mapTypes((type) => async (call) => {
        const draft = attributeDraft(type, call.body);
        const [added] = await db.work(auditContextOf(call), (unit) =>
          databases.createAttributes(unit, pathOf(call), [draft]),
        );
        if (added === undefined) throw new Error('an attribute that was added must be answered');
        return toAttribute(added);
      }),
    ),
    ...implement(
      changedAttributesApi,
      mapTypes((type) => async (call) => {
        const { key } = call.params;
        const { newKey = key, required, default: value = null, ...options } = call.body;
        const change = { key: newKey, type, required, default: value, ...optionsOf(options) };
        return toAttribute(
          await db.work(auditContextOf(call), (unit) => databases.updateAttribute(unit, pathOf(call), key, change)),
        );
      }),
    ),
    ...implement(attributesApi, {
      list: async ({ project, params, query }) => {
        const { total, items } = await listing.attributes(project, params, query);
        return { total, attributes: items.map(toAttribute) };
      },
      get: async (call) => toAttribute(shownAttributeOf(await collectionOf(call), call.params.key)),
      delete: (call) => remove(call, 'Attribute'),
      createIndex: async (call) => {
        const draft = indexDraft(call.body);
        const index = await db.work(auditContextOf(call), (unit) => databases.createIndex(unit, pathOf(call), draft));
        return toIndex(index.builtTo === undefined ? index : await builds.begin(pathOf(call), index.key));
      },
      listIndexes: async ({ project, params, query }) => {
        const { total, items } = await listing.indexes(project, params, query);
        return { total, indexes: items.map(toIndex) };
      },
      getIndex: async (call) => toIndex(indexOf(await collectionOf(call), call.params.key)),
      deleteIndex: (call) => remove(call, 'Index'),
    }),
  ];
}
