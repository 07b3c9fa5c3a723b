import type { z } from 'zod';
import type { attributesApi, CollectionSize, databasesApi } from '#src/features/index.js';
import { printJson } from '#src/platform/text/json.js';
import type { ApplianceCall, CommandResult } from '../line/command.js';
import { Lines } from '../terminal/lines.js';
import { columns, pairs } from '../terminal/table.js';

type Collection = z.output<(typeof databasesApi)['getCollection']['reply']['shape']['schema']>;
/** An attribute as returned by REST. */
export type AttributeReply = z.output<(typeof attributesApi)['get']['reply']['shape']['schema']>;

/** The flag that selects a database. */
export const databaseOption = {
  flag: '--database',
  value: 'ID',
  summary: 'the database',
  required: true,
  values: 'database',
} as const;

/** The collection of a command; `argument` is the name of the argument with its id. */
export function collectionOf({ args }: ApplianceCall, argument: string) {
  return { databaseId: args.required('--database'), collectionId: args.argument(argument) };
}

/** Formats a collection with its attributes and indexes and, if given, its size in the database. */
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

/** Table cells: key, type, required, default and bounds. */
export function attributeRow(attribute: AttributeReply): readonly string[] {
  const { key, type, format, array, required, size, min, max, elements, encrypt } = attribute;
  const { relationType, relatedCollection, twoWay, twoWayKey, onDelete } = attribute;
  const bounds = [
    size === undefined ? '' : `up to ${size} characters`,
    min === undefined ? '' : `from ${min}`,
    max === undefined ? '' : `to ${max}`,
    elements?.join(', ') ?? '',
    encrypt ? 'encrypted' : '',
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

/** Formats the attributes of an index and marks descending ones. */
export function indexedOf({
  attributes,
  orders,
}: Pick<Collection['indexes'][number], 'attributes' | 'orders'>): string {
  return attributes.map((name, at) => (orders[at] === 'DESC' ? `${name} descending` : name)).join(', ');
}
