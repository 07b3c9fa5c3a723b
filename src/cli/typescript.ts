import { attributeTypes, type Collection, isToOne, type Relation, shownAttributes } from '#src/features/index.js';

/** What a value of a column is in TypeScript. */
const types = { text: 'string', integer: 'number', double: 'number', boolean: 'boolean' } as const;

/** What the SDKs call a document, by service: the model, and the end of the names of interfaces. */
const forms = [
  { model: 'Models.Document', ending: '', word: 'document of the collection' },
  { model: 'Models.Row', ending: 'Row', word: 'row of the table' },
] as const;
type Form = (typeof forms)[number];

/** What requests carry of a document, by the end of the names of interfaces; the schemas of OpenAPI have the same names. */
const payloads = [
  { ending: 'Data', isWhole: true, word: 'What makes a new document of the collection' },
  { ending: 'Changes', isWhole: false, word: 'What changes a document of the collection' },
] as const;
type Payload = (typeof payloads)[number];

/** The names of the interfaces of each collection, without their ends, by its number. */
type Names = ReadonlyMap<number, string>;
type Attribute = Collection['attributes'][number];

/**
 * Prints TypeScript types of the documents in these collections, for the type parameters of the SDKs: an interface for each collection that
 * `Databases` reads, one for the same as rows, which `TablesDB` reads, and those of the data that both write.
 */
export function typesOf(collections: readonly Collection[], sdk: string): string {
  const taken = new Set<string>();
  const names = new Map(collections.map((collection) => [collection.number, freeName(nameOf(collection), taken)]));
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

/** `shop` and `order-items` make `ShopOrderItems`. */
function nameOf({ databaseId, id }: Collection): string {
  const words = `${databaseId}-${id}`.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
  return /^\d/.test(name) ? `Collection${name}` : name;
}

/** A name that is free with every ending. */
function freeName(name: string, taken: Set<string>, number = 1): string {
  const candidate = number === 1 ? name : `${name}${number}`;
  const all = [...forms, ...payloads].map(({ ending }) => candidate + ending);
  if (all.some((one) => taken.has(one))) return freeName(name, taken, number + 1);
  for (const one of all) taken.add(one);
  return candidate;
}

/** A relationship shows an id, or what is selected of the document; one to many is there only where it is selected. */
function fieldOf(attribute: Attribute | Relation, { model, ending }: Form, names: Names): string {
  const key = printKey(attribute.key);
  if (!('link' in attribute)) return `${key}: ${typeOf(attribute)}`;
  const name = names.get(attribute.related.number);
  const related = name === undefined ? model : name + ending;
  return isToOne(attribute) ? `${key}: string | ${related} | null` : `${key}?: ${related}[]`;
}

/** What is not required may be left out. A relationship takes ids, documents to create, and those with their `$id` to change. */
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

/** Whether all of its whole numbers are exact as numbers: the SDKs return those past 2^53 as bigints. */
function isSafe({ min, max }: Attribute): boolean {
  return [min, max].every((bound) => bound !== undefined && Number.isSafeInteger(Number(bound)));
}

function printKey(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
}

/** Without what would end the comment. */
function printComment(text: string): string {
  return text.replaceAll('*/', '* /');
}
