// The parts that random GraphQL requests are made of: arguments, as literals and as variables of many kinds, and selections.
import type { Random } from './random.js';

/** Between one and so many of something. */
export function some<T>(random: Random, most: number, make: () => T): T[] {
  return Array.from({ length: 1 + random.below(most) }, make);
}

/** Writes arguments into the text of a request, and collects the variables that some of them are. */
export function createArguments(random: Random) {
  const definitions: string[] = [];
  const values: Record<string, unknown> = {};
  const variable = (type: string, value: unknown, fallback?: string): string => {
    const name = `v${definitions.length}`;
    definitions.push(`$${name}: ${type}${fallback === undefined ? '' : ` = ${fallback}`}`);
    if (value !== undefined) values[name] = value;
    return `$${name}`;
  };
  /** Mostly right; a null where none may be is found out when the field runs, the last form before anything does. */
  const text = (value: string): string => {
    const literal = JSON.stringify(value);
    const form = random.below(40);
    if (form < 18) return literal;
    if (form < 32) return variable('String!', value);
    if (form < 35) return variable('String!', undefined, literal);
    if (form < 37) return variable('String', value, '"default"');
    if (form < 39) return variable('String', null, literal);
    return variable('String!', random.chance(0.3) ? undefined : random.pick([null, 7]));
  };
  const texts = (list: readonly string[]): string => {
    const literal = `[${list.map((value) => JSON.stringify(value)).join(', ')}]`;
    const form = random.below(10);
    if (form < 4) return literal;
    if (form < 5) return variable('[String!]', list);
    if (form < 6) return variable('[String!]', random.chance(0.5) ? undefined : null, literal);
    if (form < 7) return variable('[String!]!', undefined, literal);
    if (form < 8) return variable('[String!]', list[0] ?? 'alone');
    return form < 9 ? `[${list.map(text).join(', ')}]` : 'null';
  };
  return { definitions, values, variable, text, texts };
}

/** What random arguments are written with. */
export type Arguments = ReturnType<typeof createArguments>;

/** Fields by type, and of which type those are that have fields of their own. */
const types: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Document: { id: '', data: '', permissions: '', createdAt: '', updatedAt: '' },
  DocumentList: { total: '', documents: 'Document' },
  Collection: { id: '', name: '', attributes: '' },
  CollectionList: { total: '', collections: 'Collection' },
};

/** Writes selections, and collects the fragments that they spread. */
export function createSelections(random: Random) {
  const fragments = new Map<string, string>();
  const field = (type: string): string => {
    const [name, inner] = random.pick(Object.entries(types[type] ?? {}));
    const alias = random.chance(0.15) ? `${random.pick(['_', '__', 'x'])}${name}: ` : '';
    return `${alias}${name}${inner === '' ? '' : ` ${selection(inner)}`}`;
  };
  const fragment = (type: string): string => {
    const known = [...fragments.keys()].filter((name) => name.startsWith(`${type}_`));
    if (known.length > 0 && random.chance(0.6)) return random.pick(known);
    const body = selection(type);
    const name = `${type}_${fragments.size}`;
    fragments.set(name, `fragment ${name} on ${type} ${body}`);
    return name;
  };
  const member = (type: string): string => {
    const form = random.below(12);
    if (form === 0) return random.pick(['__typename', 'kind: __typename']);
    if (form === 1) return `... ${selection(type)}`;
    if (form === 2) return `... on ${type} ${selection(type)}`;
    return form === 3 ? `...${fragment(type)}` : field(type);
  };
  const selection = (type: string): string => `{ ${some(random, 4, () => member(type)).join(' ')} }`;
  return { fragments, selection };
}
