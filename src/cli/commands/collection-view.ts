import type { z } from 'zod';
import type { attributesApi, CollectionSize, databasesApi } from '#src/features/index.js';
import { printJson } from '#src/platform/json.js';
import type { ApplianceCall } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { Lines } from '../lines.js';
import { columns, pairs } from '../table.js';

type Collection = z.output<(typeof databasesApi)['getCollection']['reply']['schema']>;
/** An attribute as REST shows it. */
export type Attribute = z.output<(typeof attributesApi)['get']['reply']['schema']>;

/** The flag that names a database. */
export const databaseOption = {
  flag: '--database',
  value: 'ID',
  summary: 'the database',
  required: true,
  values: 'database',
} as const;

/** Which collection a command is about; its id is the argument of that name. */
export function collectionOf({ args }: ApplianceCall, argument: string) {
  return { databaseId: args.required('--database'), collectionId: args.argument(argument) };
}

/** A collection with its attributes and indexes, and what it takes in the database where that was counted. */
export function shownCollection(collection: Collection, size?: CollectionSize): CommandResult {
  const { attributes, indexes } = collection;
  const parts = [
    pairs([
      ['id', collection.$id],
      ['name', collection.name],
      ['enabled', collection.enabled ? 'on' : 'off'],
      ['document security', collection.documentSecurity ? 'on' : 'off'],
      ['permissions', collection.$permissions.join(', ') || 'none'],
      ['created', collection.$createdAt],
      ...(size === undefined
        ? []
        : ([
            ['documents', counted(size.rows)],
            ['bytes', counted(size.bytes)],
          ] as const)),
    ]),
    ...(attributes.length === 0
      ? []
      : [columns(['ATTRIBUTE', 'TYPE', 'REQUIRED', 'DEFAULT', 'BOUNDS'], attributes.map(attributeRow))]),
    ...(indexes.length === 0
      ? []
      : [
          columns(
            ['INDEX', 'TYPE', 'ATTRIBUTES'],
            indexes.map((index) => [index.key, index.type, indexedOf(index)]),
          ),
        ]),
  ];
  return { value: { ...collection, ...size }, text: Lines.parts(parts) };
}

const counted = (number: number | null) => (number === null ? 'not counted in time' : String(number));

/** Key, type, whether it is required, default and bounds. */
export function attributeRow(attribute: Attribute): readonly string[] {
  const { key, type, format, array, required, size, min, max, elements } = attribute;
  const { relationType, relatedCollection, twoWay, twoWayKey, onDelete } = attribute;
  const bounds = [
    size === undefined ? '' : `up to ${size} characters`,
    min === undefined ? '' : `from ${min}`,
    max === undefined ? '' : `to ${max}`,
    elements?.join(', ') ?? '',
    relationType === undefined
      ? ''
      : `${relationType} to ${relatedCollection}${twoWay ? `, back by ${twoWayKey}` : ''}, on delete ${onDelete}`,
  ];
  return [
    key,
    `${format ?? type}${array ? '[]' : ''}`,
    required ? 'yes' : 'no',
    attribute.default === null ? '' : printJson(attribute.default),
    bounds.filter((bound) => bound !== '').join(' '),
  ];
}

/** The attributes of an index, with those that it sorts descending. */
export function indexedOf({
  attributes,
  orders,
}: Pick<Collection['indexes'][number], 'attributes' | 'orders'>): string {
  return attributes.map((name, at) => (orders[at] === 'DESC' ? `${name} descending` : name)).join(', ');
}
