import { schemaLimits } from '#src/contract/limits.js';
import type { ForeignRow } from '#src/platform/foreign-databases/index.js';
import type { FileAttribute } from '../../project-file/file.js';
import { parsedOf } from '../../user-records/index.js';
import type { SourceField } from './collections.js';

/** Measurements of the values of a field in all records. */
export interface FieldSize {
  /** Characters of the longest value. */
  readonly characters: number;
  /** True if a value is neither empty nor an http or https URL. */
  readonly isForeignUrl: boolean;
}

/** Sizes that PocketBase uses if a field has none. */
const defaults = { text: 5000, editor: 5_242_880, json: 1_048_576, multiple: 255, geoPoint: 200 } as const;

/** True if values of the field are lists. */
export function isListField({ type, maxSelect }: SourceField): boolean {
  return ['select', 'relation', 'file'].includes(type) && (maxSelect ?? 0) > 1;
}

/** True for fields that become `$createdAt` and `$updatedAt`. */
export function isTimeField({ type, name }: SourceField): boolean {
  return type === 'autodate' && (name === 'created' || name === 'updated');
}

/** How a field relates to another collection: the key of the collection of documents, or undefined if it contains ids of users. */
export type RelatedOf = (field: SourceField) => string | undefined;

/** The attribute for a field, without its key; undefined for a type without a counterpart. */
export function fieldAttribute(
  field: SourceField,
  { characters, isForeignUrl }: FieldSize,
  relatedOf: RelatedOf,
): Omit<FileAttribute, 'key'> | undefined {
  const { type, required, max, maxSize, min } = field;
  const text = (size: number) => ({ type: 'string', size: Math.max(1, size, characters) });
  switch (type) {
    case 'text':
      return { ...text(max || defaults.text), required };
    case 'editor':
      return { ...text(maxSize || defaults.editor), required };
    case 'json':
      return text(maxSize || defaults.json);
    case 'geoPoint':
      return text(defaults.geoPoint);
    case 'number': {
      const bounds = { ...(min == null ? {} : { min }), ...(max == null ? {} : { max }) };
      return { type: field.onlyInt ? 'integer' : 'float', required, ...bounds };
    }
    case 'bool':
      return { type: 'boolean', required };
    case 'email':
      return { type: 'email' };
    case 'url':
      return isForeignUrl ? text(2048) : { type: 'url' };
    case 'date':
    case 'autodate':
      return { type: 'datetime' };
    case 'select':
      return isListField(field) ? { type: 'string', size: longestOf(field), array: true } : choiceOf(field);
    case 'file':
      return { type: 'string', size: 36, array: isListField(field) };
    case 'relation': {
      const relatedCollection = relatedOf(field);
      if (relatedCollection === undefined) return { type: 'string', size: 36, array: isListField(field) };
      const onDelete = field.cascadeDelete && !isListField(field) ? 'cascade' : 'setNull';
      const relationType = isListField(field) ? 'manyToMany' : 'manyToOne';
      return { type: 'relationship', relatedCollection, relationType, twoWay: false, onDelete };
    }
    default:
      return undefined;
  }
}

function longestOf({ values }: SourceField): number {
  return Math.max(1, ...(values ?? []).map((value) => value.length));
}

function choiceOf(field: SourceField): Omit<FileAttribute, 'key'> {
  const elements = [...new Set(field.values ?? [])];
  const fits =
    elements.length <= schemaLimits.elements && elements.every(({ length }) => length <= schemaLimits.element);
  return fits && elements.length > 0 ? { type: 'enum', elements } : { type: 'string', size: longestOf(field) };
}

/** Texts of a list, which PocketBase stores as JSON; a single value is a list of one. */
export function textsOf(value: unknown): string[] {
  const parsed = typeof value === 'string' && value.startsWith('[') ? parsedOf(value) : value;
  return [parsed].flat().filter((one): one is string => typeof one === 'string' && one !== '');
}

/** The value of a field in a document. `fileId` returns the id of a file by its name. */
export function importedValue(field: SourceField, row: ForeignRow, fileId: (name: string) => string): unknown {
  const value = row[field.name];
  if (field.type === 'file' || field.type === 'relation' || field.type === 'select') {
    const texts = textsOf(value).map((text) => (field.type === 'file' ? fileId(text) : text));
    return isListField(field) ? texts : (texts[0] ?? null);
  }
  if (value === null || value === undefined) return null;
  switch (field.type) {
    case 'bool':
      return value === 1 || value === true;
    case 'number':
      return value;
    case 'date':
    case 'autodate':
      return isoTime(value) ?? null;
    case 'email':
    case 'url':
      return value === '' ? null : value;
    case 'json':
    case 'geoPoint':
      return value === '' || value === 'null' ? null : String(value);
    default:
      return String(value);
  }
}

/** A time such as `2024-01-01 10:00:00.123Z` in ISO 8601; undefined if there is none. */
export function isoTime(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.replace(' ', 'T') : undefined;
}
