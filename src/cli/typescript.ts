import { attributeTypes, type Collection, isToOne, type Relation, shownAttributes } from '#src/features/index.js';

/** What a value of a column is in TypeScript; whole numbers past 2^53 are bigints in the SDKs. */
const types = { text: 'string', integer: 'number | bigint', double: 'number', boolean: 'boolean' } as const;

/**
 * Prints TypeScript types of the documents in these collections, for the type parameter of the SDKs' `Databases` and `TablesDB`: an interface
 * for each collection, and what it is created from.
 */
export function typesOf(collections: readonly Collection[], sdk: string): string {
  const names = new Set<string>();
  const lines = collections.flatMap((collection) => {
    const name = freeName(nameOf(collection), names);
    const fields = shownAttributes(collection).map((attribute) => `  ${fieldOf(attribute)};`);
    return [
      '',
      `/** A document of the collection ${printComment(collection.id)} in the database ${printComment(collection.databaseId)}. */`,
      `export interface ${name} extends Models.Document {`,
      ...fields,
      '}',
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

function freeName(name: string, names: Set<string>, number = 1): string {
  const candidate = number === 1 ? name : `${name}${number}`;
  if (names.has(candidate)) return freeName(name, names, number + 1);
  names.add(candidate);
  return candidate;
}

/** A relationship shows an id, or what is selected of the document; one to many is there only where it is selected. */
function fieldOf(attribute: Collection['attributes'][number] | Relation): string {
  const key = printKey(attribute.key);
  if (!('link' in attribute)) return `${key}: ${typeOf(attribute)}`;
  return isToOne(attribute) ? `${key}: string | Models.Document | null` : `${key}?: Models.Document[]`;
}

function typeOf({ type, array, required, elements }: Collection['attributes'][number]): string {
  const { column } = attributeTypes[type];
  const plain = column in types ? types[column as keyof typeof types] : 'unknown';
  const one = elements === undefined ? plain : elements.map((element) => JSON.stringify(element)).join(' | ');
  const value = array ? `(${one})[]` : one;
  return required ? value : `${value} | null`;
}

function printKey(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
}

/** Without what would end the comment. */
function printComment(text: string): string {
  return text.replaceAll('*/', '* /');
}
