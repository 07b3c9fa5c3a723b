// Random GraphQL requests from what introspection tells of the schema: right ones, and those that are wrong in one place or in many.
import type { IntrospectionField, IntrospectionObjectType, IntrospectionQuery, IntrospectionTypeRef } from 'graphql';
import type { Random } from '../documents/random.js';
import { hostileText, hostileValue } from './hostile-values.js';
import { printHostile } from './json-text.js';
import type { Ids, Pool } from './pool.js';
import { queryTexts } from './queries.js';

/** What requests are made with. */
export interface GraphqlMaking {
  readonly schema: IntrospectionQuery['__schema'];
  readonly random: Random;
  readonly pool: Pool;
}

/** A request under construction. */
interface Draft {
  readonly making: GraphqlMaking;
  readonly ids: Ids;
  readonly fragments: string[];
  readonly declared: string[];
  readonly variables: Record<string, unknown>;
  /** How often a place is wrong. */
  readonly wrong: number;
}

const documentFields = ['$id', '$createdAt', '$updatedAt', '$sequence'];
const named = (type: IntrospectionTypeRef): string =>
  'ofType' in type && type.ofType ? named(type.ofType) : 'name' in type ? type.name : '';
const isList = (type: IntrospectionTypeRef): boolean =>
  type.kind === 'LIST' || (type.kind === 'NON_NULL' && isList(type.ofType));
const printType = (type: IntrospectionTypeRef): string =>
  type.kind === 'NON_NULL'
    ? `${printType(type.ofType)}!`
    : type.kind === 'LIST'
      ? `[${printType(type.ofType)}]`
      : type.name;

/** A body for the endpoint, mostly one operation, sometimes a batch. */
export function graphqlBody(making: GraphqlMaking): unknown {
  const { random } = making;
  if (random.chance(0.02)) return hostileValue(random);
  if (random.chance(0.08)) return Array.from({ length: random.pick([0, 1, 2, 10, 11]) }, () => one(making));
  return one(making);
}

function one(making: GraphqlMaking): unknown {
  const { random } = making;
  if (random.chance(0.12)) return { query: monster(random) };
  const { query, variables, name } = operation(making);
  const body: Record<string, unknown> = { query: random.chance(0.05) ? broken(query, random) : query, variables };
  if (random.chance(0.2)) body.operationName = random.chance(0.6) ? name : hostileValue(random);
  if (random.chance(0.04)) body.variables = random.chance(0.5) ? printHostile(variables) : hostileValue(random);
  return body;
}

function operation(making: GraphqlMaking) {
  const { random, schema, pool } = making;
  const isMutation = random.chance(0.4);
  const root = typeOf(making, (isMutation ? schema.mutationType : schema.queryType)?.name ?? '');
  const ids = pool.pick(['databaseId', 'collectionId', 'documentId'], random);
  const draft: Draft = {
    making,
    ids,
    fragments: [],
    declared: [],
    variables: {},
    wrong: random.pick([0, 0, 0.02, 0.1]),
  };
  const count = random.pick([1, 1, 1, 2, 3, 5, 20, 21]);
  const fields = Array.from({ length: count }, (_, at) =>
    field(draft, random.pick(root.fields), count > 1 ? `r${at}: ` : '', 0),
  );
  const name = random.pick(['A', 'B', '_', '__a', 'constructor']);
  const declared = draft.declared.length > 0 ? `(${draft.declared.join(', ')})` : '';
  const directive = random.chance(draft.wrong) ? ' @nothing' : '';
  const query = `${isMutation ? 'mutation' : 'query'} ${name}${declared}${directive} { ${fields.join(' ')} } ${draft.fragments.join(' ')}`;
  return { query, variables: draft.variables, name };
}

function typeOf({ schema }: GraphqlMaking, name: string): IntrospectionObjectType {
  const type = schema.types.find((one) => one.name === name);
  if (type?.kind !== 'OBJECT') throw new Error(`${name} is no object type`);
  return type;
}

function field(draft: Draft, { name, args, type }: IntrospectionField, alias: string, depth: number): string {
  const { making, wrong } = draft;
  const { random } = making;
  const chosen = args
    .filter((arg) => arg.type.kind === 'NON_NULL' || random.chance(0.5))
    .filter(() => !random.chance(wrong));
  const given = chosen.map((arg) => `${arg.name}: ${argument(draft, arg.name, arg.type)}`);
  if (random.chance(wrong)) given.push('nothing: 1');
  const inner = making.schema.types.find((one) => one.name === named(type));
  const below = inner?.kind === 'OBJECT' && !random.chance(wrong) ? selection(draft, inner, depth + 1) : '';
  const directive = random.chance(0.06)
    ? ` ${random.pick(['@include(if: true)', '@skip(if: false)', '@include(if: "x")', '@skip'])}`
    : '';
  const text = random.chance(wrong) ? `${name}x` : name;
  return `${alias}${text}${given.length > 0 ? `(${given.join(', ')})` : ''}${directive}${below}`;
}

function selection(draft: Draft, type: IntrospectionObjectType, depth: number): string {
  const { random } = draft.making;
  if (depth > 12) return '{ __typename }';
  const chosen = type.fields.filter(() => random.chance(0.7));
  const fields = chosen.map((one) =>
    field(draft, one, random.chance(0.2) ? `${random.pick(['a', 'b', 'c'])}: ` : '', depth),
  );
  if (random.chance(0.1)) fields.push('__typename');
  const body = `{ ${fields.length > 0 ? fields.join(' ') : '__typename'} }`;
  if (random.chance(0.1)) return ` { ... on ${type.name} ${body} }`;
  if (random.chance(0.9)) return ` ${body}`;
  const name = `F${draft.fragments.length}`;
  draft.fragments.push(`fragment ${name} on ${random.chance(draft.wrong) ? 'Nothing' : type.name} ${body}`);
  return ` { ...${name} }`;
}

/** A value in its place, or a variable for it. */
function argument(draft: Draft, name: string, type: IntrospectionTypeRef): string {
  const { random } = draft.making;
  const value = random.chance(draft.wrong) ? hostileValue(random) : argumentValue(draft, name, type);
  if (random.chance(0.5)) return literal(value, random);
  const variable = `v${draft.declared.length}`;
  const declared = random.chance(draft.wrong) ? 'Int' : printType(type);
  draft.declared.push(`$${variable}: ${declared}`);
  if (!random.chance(draft.wrong)) draft.variables[variable] = value;
  return `$${variable}`;
}

function argumentValue({ making, ids }: Draft, name: string, type: IntrospectionTypeRef): unknown {
  const { random, pool } = making;
  const attributes = pool.attributesOf(ids).map(({ key }) => key);
  if (isList(type))
    return name === 'permissions' ? ['read("any")'] : queryTexts(random, [...documentFields, ...attributes], { pool });
  if (name === 'documentId' && random.chance(0.2)) return 'unique()';
  if (named(type) === 'String') return random.chance(0.85) ? (ids[name] ?? 'nothing') : pool.foreign(random);
  return Object.fromEntries(
    attributes.filter(() => random.chance(0.3)).map((key) => [key, random.pick([1, 'text', true, null, 1.5])]),
  );
}

/** JSON as GraphQL writes it, where names are not quoted. */
function literal(value: unknown, random: Random): string {
  if (Array.isArray(value)) return `[${value.map((inner) => literal(inner, random)).join(', ')}]`;
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    const members = Object.entries(value).map(
      ([name, inner]) => `${name.replace(/\W/g, '_')}: ${literal(inner, random)}`,
    );
    return `{${members.join(', ')}}`;
  }
  const text = printHostile(value);
  return typeof value === 'string' && random.chance(0.05) ? `"""${value}"""` : text;
}

function broken(query: string, random: Random): string {
  const at = random.below(query.length);
  return query.slice(0, at) + (random.chance(0.5) ? hostileText(random) : '') + query.slice(at + random.below(3));
}

/** Documents that are made to cost much. */
function monster(random: Random): string {
  const size = random.pick([5, 50, 500, 5000]);
  const kinds: (() => string)[] = [
    () => `{ ${'a { '.repeat(size)}${'}'.repeat(size)} }`,
    () => `{ ${Array.from({ length: size }, (_, at) => `a${at}: __typename`).join(' ')} }`,
    () => `{ __typename ${'@include(if: true) '.repeat(size)} }`,
    () => `{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }`,
    () =>
      `{ ...F0 } ${Array.from({ length: size }, (_, at) => `fragment F${at} on Query { ...F${at + 1} ...F${at + 1} }`).join(' ')}`,
    () => `{ __typename }#${random.below(1e9)}${'x'.repeat(size * 10)}`,
    () => `query(${Array.from({ length: size }, (_, at) => `$v${at}: Int`).join(' ')}) { __typename }`,
    () => `{ documentGet(databaseId: "${'x'.repeat(size)}", collectionId: "a", documentId: ${'['.repeat(size)} }`,
    () =>
      `{ __schema { types { ${'fields { type { ofType { '.repeat(Math.min(size, 40))} name ${'} } }'.repeat(Math.min(size, 40))} } } }`,
    () => `query A { __typename } query A { __typename } ${'query { __typename } '.repeat(Math.min(size, 50))}`,
    () => `subscription { a }`,
    () => `mutation { documentCreate(data: ${'{a:'.repeat(size)}1${'}'.repeat(size)}) { id } }`,
    () => hostileText(random),
  ];
  return random.pick(kinds)();
}
