import { Failure } from '#src/contract/errors.js';
import { minEncryptedSize } from '#src/contract/limits.js';
import type { Unit } from '#src/platform/db/unit.js';
import { bind } from '#src/platform/runtime/bind.js';
import { attributeTypes, InvalidValue, toStored } from '../model/attribute-types.js';
import { relationOf } from '../model/relation-sides.js';
import { type Attribute, attributeOf, type Collection, type CollectionPath, columnKind } from '../model/schema.js';
import type { AttributeChange, AttributeDraft, AttributeService } from '../model/service.js';
import {
  addColumn,
  type CollectionRows,
  type PartDeps,
  recordOfPart,
  requireFreeKey,
  requireRoom,
  type SchemaDeps,
} from './collections.js';
import { dropIndex } from './indexes.js';
import { removeRelation } from './relation-removal.js';
import { documentTables, tablesOfIndexes, tablesOfRelation } from './tables.js';

/** Attributes: columns of the documents of a collection. */
export function createAttributes(schema: SchemaDeps, rows: CollectionRows): AttributeService {
  return bind({ ...schema, rows }, { createAttributes: addAttributes, updateAttribute, removeAttribute });
}

async function addAttributes(
  { rows, ddl, tables }: PartDeps,
  unit: Unit,
  path: CollectionPath,
  drafts: readonly AttributeDraft[],
): Promise<readonly Attribute[]> {
  const before = await rows.lock(unit, path);
  const times = { createdAt: unit.now, updatedAt: unit.now };
  let collection = before;
  for (const draft of drafts) {
    requireFreeKey(collection, draft.key);
    const attribute = withDefault({ ...draft, number: collection.lastPart + 1, ...times });
    collection = { ...collection, attributes: [...collection.attributes, attribute], lastPart: attribute.number };
  }
  const { attributes, lastPart } = collection;
  requireRoom(collection, 'attribute_limit_exceeded');
  const added = attributes.slice(before.attributes.length);
  await tables.lockOne(unit, documentTables([before.number]), 'everybody');
  for (const attribute of added)
    await addColumn(unit, attribute.key, [ddl.addColumn(before.number, attribute.number, columnKind(attribute))]);
  await rows.change(unit, before, { attributes, lastPart });
  for (const { key } of added) unit.record('attributeCreated', recordOfPart(before, 'attributes', key));
  return added;
}

async function updateAttribute(
  deps: PartDeps,
  unit: Unit,
  path: CollectionPath,
  key: string,
  input: AttributeChange,
): Promise<Attribute> {
  const collection = await deps.rows.lock(unit, path);
  const before = attributeOf(collection, key);
  if (before.type !== input.type)
    throw new Failure('attribute_type_invalid', { message: `"${key}" is of the type ${before.type}.` });
  const after = withDefault({ ...before, ...input, updatedAt: unit.now });
  if (after.key !== key) requireFreeKey(collection, after.key, false);
  if (after.size !== undefined && after.size < (before.size ?? 0))
    await requireShort(deps, unit, collection, after, after.size);
  const attributes = collection.attributes.map((one) => (one.number === before.number ? after : one));
  requireRoom({ ...collection, attributes }, 'attribute_limit_exceeded');
  await deps.rows.change(unit, collection, {
    attributes,
    indexes: collection.indexes.map((index) => ({
      ...index,
      attributes: index.attributes.map((name) => (name === key ? after.key : name)),
    })),
  });
  unit.record('attributeUpdated', recordOfPart(collection, 'attributes', after.key));
  return after;
}

/** Throws Failure if a document has a longer value, or any encrypted value. No document is written until the end of the unit. */
async function requireShort(
  { tables, ddl }: PartDeps,
  unit: Unit,
  { number }: Collection,
  attribute: Attribute,
  size: number,
): Promise<void> {
  await tables.lockOne(unit, documentTables([number]), 'writersAndChanges');
  const { key, encrypt } = attribute;
  const isList = columnKind(attribute) === 'list';
  const longer = await unit.one(ddl.longer(number, attribute.number, isList, encrypt ? 0 : size));
  if (longer !== undefined)
    throw new Failure('attribute_invalid_resize', {
      message: encrypt
        ? `"${key}" is encrypted, so its size cannot be reduced while documents have values.`
        : `A stored value of "${key}" is longer than ${size} characters.`,
    });
}

async function removeAttribute(deps: PartDeps, unit: Unit, path: CollectionPath, key: string): Promise<void> {
  const { rows, ddl, tables } = deps;
  const collection = await rows.lockWithRelated(unit, path);
  const relation = relationOf(collection, key);
  if (relation !== undefined) {
    await tables.lock(unit, [collection], tablesOfRelation(collection, relation));
    return removeRelation(deps, unit, collection, relation);
  }
  const attribute = attributeOf(collection, key);
  const ended = collection.indexes.filter(({ attributes }) => attributes.includes(key));
  await tables.lockOne(unit, tablesOfIndexes(collection, ended), 'everybody');
  for (const index of ended) await dropIndex(deps, unit, collection, index);
  await unit.run(ddl.dropColumn(collection.number, attribute.number));
  await rows.change(unit, collection, {
    attributes: collection.attributes.filter((one) => one !== attribute),
    indexes: collection.indexes.filter((one) => !ended.includes(one)),
  });
  for (const index of ended) unit.record('indexDeleted', recordOfPart(collection, 'indexes', index.key));
  unit.record('attributeDeleted', recordOfPart(collection, 'attributes', key));
}

/** Throws Failure where the bounds or the default are not possible; otherwise the attribute with the default in its stored form. */
function withDefault(attribute: Attribute): Attribute {
  const { key, type } = attribute;
  const { number = Number, parse } = attributeTypes[type];
  if (attribute.encrypt && attribute.size !== undefined && attribute.size < minEncryptedSize)
    throw new Failure('general_bad_request', {
      message: `The size of "${key}" is too small: that of an encrypted attribute is at least ${minEncryptedSize}.`,
    });
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
