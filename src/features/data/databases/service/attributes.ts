import { Failure } from '#src/contract/errors.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import type { Unit } from '#src/platform/db/unit.js';
import { attributeTypes, InvalidValue, toStored } from '../attribute-types.js';
import { relationOf } from '../relations/relation.js';
import { removeRelation } from '../relations/removal.js';
import { type Attribute, attributeOf, type Collection, columnKind } from '../schema.js';
import type { AttributeService } from '../service.js';
import {
  type CollectionRows,
  demandFreeKey,
  demandRoom,
  recordOfPart,
  type SchemaDeps,
  tooManyColumns,
} from './collections.js';
import { documentTables, tablesOfRelation } from './tables.js';

/** Attributes: columns of the documents of a collection. */
export function createAttributes(
  deps: SchemaDeps,
  { lock, lockWithRelated, change }: CollectionRows,
): AttributeService {
  const { ddl, tables } = deps;
  /** Throws Failure where a document has a longer value. None is written until the end of the unit. */
  const demandShort = async (unit: Unit, { number }: Collection, attribute: Attribute, size: number): Promise<void> => {
    await tables.lockOne(unit, documentTables([number]), 'writersAndChanges');
    const longer = await unit.one(ddl.longer(number, attribute.number, columnKind(attribute) === 'list', size));
    if (longer !== undefined)
      throw new Failure('attribute_invalid_resize', {
        message: `A stored value of "${attribute.key}" is longer than ${size} characters.`,
      });
  };
  const addColumn = async (unit: Unit, { number }: Collection, attribute: Attribute): Promise<void> => {
    try {
      await unit.run(ddl.addColumn(number, attribute.number, columnKind(attribute)));
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'tooManyColumns') throw tooManyColumns(attribute.key);
      throw error;
    }
  };
  return {
    createAttributes: async (unit, path, drafts) => {
      const before = await lock(unit, path);
      const times = { createdAt: unit.now, updatedAt: unit.now };
      let collection = before;
      for (const draft of drafts) {
        demandFreeKey(collection, draft.key);
        const attribute = withDefault({ ...draft, number: collection.lastPart + 1, ...times });
        collection = {
          ...collection,
          attributes: [...collection.attributes, attribute],
          lastPart: attribute.number,
        };
      }
      const { attributes, lastPart } = collection;
      demandRoom(collection, 'attribute_limit_exceeded');
      const added = attributes.slice(before.attributes.length);
      await tables.lockOne(unit, documentTables([before.number]), 'everybody');
      for (const attribute of added) await addColumn(unit, before, attribute);
      await change(unit, before, { attributes, lastPart });
      for (const { key } of added) unit.record('attributeCreated', recordOfPart(before, 'attributes', key));
      return added;
    },
    updateAttribute: async (unit, path, key, input) => {
      const collection = await lock(unit, path);
      const before = attributeOf(collection, key);
      if (before.type !== input.type)
        throw new Failure('attribute_type_invalid', { message: `"${key}" is of the type ${before.type}.` });
      const after = withDefault({ ...before, ...input, updatedAt: unit.now });
      if (after.key !== key) demandFreeKey(collection, after.key, false);
      if (after.size !== undefined && after.size < (before.size ?? 0))
        await demandShort(unit, collection, after, after.size);
      const attributes = collection.attributes.map((one) => (one.number === before.number ? after : one));
      demandRoom({ ...collection, attributes }, 'attribute_limit_exceeded');
      await change(unit, collection, {
        attributes,
        indexes: collection.indexes.map((index) => ({
          ...index,
          attributes: index.attributes.map((name) => (name === key ? after.key : name)),
        })),
      });
      unit.record('attributeUpdated', recordOfPart(collection, 'attributes', after.key));
      return after;
    },
    removeAttribute: async (unit, path, key) => {
      const collection = await lockWithRelated(unit, path);
      const relation = relationOf(collection, key);
      if (relation !== undefined) {
        await tables.lock(unit, [collection], tablesOfRelation(collection, relation));
        return removeRelation(unit, deps, collection, relation);
      }
      const attribute = attributeOf(collection, key);
      const index = collection.indexes.find(({ attributes }) => attributes.includes(key));
      if (index !== undefined)
        throw new Failure('index_dependency', {
          message: `The index "${index.key}" uses "${key}". Remove the index first.`,
        });
      await tables.lockOne(unit, documentTables([collection.number]), 'everybody');
      await unit.run(ddl.dropColumn(collection.number, attribute.number));
      await change(unit, collection, { attributes: collection.attributes.filter((one) => one !== attribute) });
      unit.record('attributeDeleted', recordOfPart(collection, 'attributes', key));
    },
  };
}

/** Throws Failure where the bounds or the default are not possible; otherwise the attribute with the default in its stored form. */
function withDefault(attribute: Attribute): Attribute {
  const { key, type } = attribute;
  const { number = Number, parse } = attributeTypes[type];
  const [min, max] = [attribute.min, attribute.max].map((text) => (text === undefined ? undefined : number(text)));
  if (min !== undefined && max !== undefined && min > max)
    throw new Failure('attribute_value_invalid', { message: `The "min" of "${key}" is larger than its "max".` });
  // A bound is a value without bounds.
  if ([min, max].some((bound) => bound !== undefined && parse(bound, {}) instanceof InvalidValue))
    throw new Failure('attribute_value_invalid', { message: `A bound of "${key}" has more than 64 bits.` });
  if (attribute.default === null) return attribute;
  if (attribute.required || attribute.array)
    throw new Failure('attribute_default_unsupported', {
      message: `"${key}" cannot have a default, as it is ${attribute.required ? 'required' : 'an array'}.`,
    });
  const stored = toStored(attribute, attribute.default);
  if (stored instanceof InvalidValue)
    throw new Failure('attribute_value_invalid', { message: `The default of "${key}" ${stored.reason}.` });
  // Kept as JSON in the collection's row, where a number of 64 bits would not be exact.
  return { ...attribute, default: typeof stored === 'bigint' ? String(stored) : stored };
}
