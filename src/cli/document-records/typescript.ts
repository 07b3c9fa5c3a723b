import { attributeTypes, type Collection, isToOne, type Relation, shownAttributes } from '#src/features/index.js';

/** TypeScript types by column type. */
const types = { text: 'string', integer: 'number', double: 'number', boolean: 'boolean' } as const;

/** Document types of the SDKs, by service: the model, and the suffix of interface names. */
const forms = [
  { model: 'Models.Document', ending: '', word: 'document of the collection' },
  { model: 'Models.Row', ending: 'Row', word: 'row of the table' },
] as const;
type Form = (typeof forms)[number];

/** Payload types, by suffix of interface names. The OpenAPI schemas have the same names. */
const payloads = [
  { ending: 'Data', isWhole: true, word: 'What makes a new document of the collection' },
  { ending: 'Changes', isWhole: false, word: 'What changes a document of the collection' },
] as const;
type Payload = (typeof payloads)[number];

/** Names that the printed modules use themselves. */
const reserved = [
  ...['Client', 'Databases', 'ID', 'Models', 'Query', 'Collection', 'Queries', 'Key', 'Known', 'Value'],
  ...['AsyncGenerator', 'Promise', 'Extract', 'NonNullable'],
] as const;

/** Interface names without suffix, by collection number. */
type Names = ReadonlyMap<number, string>;
type Attribute = Collection['attributes'][number];

/**
 * Prints TypeScript types for documents in these collections, for the type parameters of the SDKs. Each collection gets an interface for
 * `Databases`, one for rows in `TablesDB`, and two for the payloads of both.
 */
export function typesOf(collections: readonly Collection[], sdk: string): string {
  const names = namesOf(collections);
  const lines = collections.flatMap((collection) => {
    const place = `${printComment(collection.id)} in the database ${printComment(collection.databaseId)}. */`;
    const name = names.get(collection.number);
    const attributes = shownAttributes(collection);
    return [
      ...forms.flatMap((form) => [
        '',
        `/** A ${form.word} ${place}`,
        `export interface ${name}${form.ending} extends ${form.model} {`,
        ...attributes.map((attribute) => `  ${fieldOf(attribute, form, names)};`),
        '}',
      ]),
      ...payloads.flatMap((payload) => [
        '',
        `/** ${payload.word} ${place}`,
        `export interface ${name}${payload.ending} {`,
        ...attributes.map((attribute) => `  ${writtenFieldOf(attribute, payload, names)};`),
        '}',
      ]),
    ];
  });
  return [`import type { Models } from '${sdk}';`, ...lines].join('\n');
}

/** The interface names of collections, without suffix. */
export function namesOf(collections: readonly Collection[]): Names {
  const taken = new Set<string>(reserved);
  return new Map(collections.map((collection) => [collection.number, freeName(nameOf(collection), taken)]));
}

/** Builds a name: `shop` and `order-items` become `ShopOrderItems`. */
function nameOf({ databaseId, id }: Collection): string {
  const words = `${databaseId}-${id}`.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
  return /^\d/.test(name) ? `Collection${name}` : name;
}

/** Finds a name that is unused with every suffix. */
function freeName(name: string, taken: Set<string>, number = 1): string {
  const candidate = number === 1 ? name : `${name}${number}`;
  const all = [...forms, ...payloads].map(({ ending }) => candidate + ending);
  if (all.some((one) => taken.has(one))) return freeName(name, taken, number + 1);
  for (const one of all) taken.add(one);
  return candidate;
}

/** A relationship is an id or the selected document. A to-many relationship is present only if selected. */
function fieldOf(attribute: Attribute | Relation, { model, ending }: Form, names: Names): string {
  const key = printKey(attribute.key);
  if (!('link' in attribute)) return `${key}: ${typeOf(attribute)}`;
  const name = names.get(attribute.related.number);
  const related = name === undefined ? model : name + ending;
  return isToOne(attribute) ? `${key}: string | ${related} | null` : `${key}?: ${related}[]`;
}

/** Optional attributes may be omitted. A relationship accepts ids, documents to create, and documents with `$id` to change. */
function writtenFieldOf(attribute: Attribute | Relation, { isWhole }: Payload, names: Names): string {
  const key = printKey(attribute.key);
  if (!('link' in attribute)) return `${key}${isWhole && attribute.required ? '' : '?'}: ${typeOf(attribute)}`;
  const name = names.get(attribute.related.number);
  const nested =
    name === undefined
      ? 'object'
      : `(${name}Data & { $id?: string; $permissions?: string[] }) | (${name}Changes & { $id: string; $permissions?: string[] })`;
  const one = `string | ${nested}`;
  return `${key}?: ${isToOne(attribute) ? one : `(${one})[]`} | null`;
}

function typeOf(attribute: Attribute): string {
  const { type, array, required, elements } = attribute;
  const { column } = attributeTypes[type];
  const known = column in types ? types[column as keyof typeof types] : 'unknown';
  const plain = column === 'integer' && !isSafe(attribute) ? 'number | bigint' : known;
  const one = elements === undefined ? plain : elements.map((element) => JSON.stringify(element)).join(' | ');
  const value = array ? `${one.includes(' ') ? `(${one})` : one}[]` : one;
  return required ? value : `${value} | null`;
}

/** True if all integers of the attribute are exact as numbers. The SDKs return integers beyond 2^53 as bigint. */
function isSafe({ min, max }: Attribute): boolean {
  return [min, max].every((bound) => bound !== undefined && Number.isSafeInteger(Number(bound)));
}

/** Prints the key of a member. */
export function printKey(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
}

/** Escapes the end of a comment. */
function printComment(text: string): string {
  return text.replaceAll('*/', '* /');
}
