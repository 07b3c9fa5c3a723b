import {
  buildSchema,
  type GraphQLObjectType,
  type GraphQLScalarType,
  type GraphQLSchema,
  getNamedType,
  isIntrospectionType,
  isLeafType,
  isObjectType,
  isScalarType,
  Kind,
  type ValueNode,
} from 'graphql';
import { parseJson } from '#src/platform/text/json.js';
import type { GraphqlCaller, ResolverSource, Resolvers } from './resolvers.js';
import { sdl } from './sdl.js';

/** Builds the executable schema: the SDL with resolvers for its root fields. */
export function createSchema(resolvers: Resolvers): GraphQLSchema {
  const schema = buildSchema(sdl);
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) && !isIntrospectionType(type)) parseLeaves(type);
  }
  for (const [typeName, fields] of Object.entries(resolvers)) {
    const type = schema.getType(typeName);
    if (!isObjectType(type)) throw new Error(`the SDL has no type ${typeName}`);
    for (const [name, field] of Object.entries(type.getFields())) {
      const resolver = fields[name];
      if (resolver === undefined) throw new Error(`the field ${typeName}.${name} has no resolver`);
      field.resolve = resolver;
    }
  }
  const json = schema.getType('JSON');
  if (!isScalarType(json)) throw new Error('the SDL has no scalar JSON');
  Object.assign(json, {
    serialize: (value: unknown) => value,
    parseValue: (value: unknown) => value,
    parseLiteral: literal,
  } satisfies Partial<GraphQLScalarType>);
  return schema;
}

/** Adds resolvers that parse scalar fields, because sources contain JSON text. */
function parseLeaves(type: GraphQLObjectType): void {
  for (const field of Object.values(type.getFields())) {
    if (isLeafType(getNamedType(field.type)))
      field.resolve = (source: ResolverSource, _args, { request }: GraphqlCaller) => {
        const text = String(source[field.name]);
        request.budget.write(text);
        return parseJson(text);
      };
  }
}

/** Evaluates a literal in a query. Integers beyond 2^53 stay exact. */
function literal(node: ValueNode, variables?: Readonly<Record<string, unknown>> | null): unknown {
  switch (node.kind) {
    case Kind.INT:
      return Number.isSafeInteger(Number(node.value)) ? Number(node.value) : BigInt(node.value);
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.STRING:
    case Kind.ENUM:
    case Kind.BOOLEAN:
      return node.value;
    case Kind.LIST:
      return node.values.map((inner) => literal(inner, variables));
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, literal(value, variables)]));
    case Kind.VARIABLE:
      return variables?.[node.name.value];
    default:
      return null;
  }
}
