import {
  GraphQLInt,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  locatedError,
} from 'graphql';
import type { ResponseBudget } from '#src/contract/response-budget.js';
import type { ResolverSource } from './resolvers.js';
import { type Fragments, type SameFields, selectedFields } from './selection.js';

/**
 * Writes the selected fields of a source as JSON text. Counts the bytes, because aliases can repeat a long value many times. Throws
 * GraphQLError and Failure.
 */
type Writer = (source: ResolverSource, budget: ResponseBudget) => string;

/** A selected field, possibly selected by several nodes. */
export interface Selected {
  readonly nodes: SameFields;
  readonly fragments: Fragments;
  /** Response names from the root. Undefined below a list, because such a path contains indexes. */
  readonly path: readonly string[] | undefined;
}

/** Creates the writer of an object field; undefined if only graphql-js can complete one of the selected fields. */
export function writerOf(type: GraphQLObjectType, { nodes, fragments, path }: Selected): Writer | undefined {
  const members: { readonly label: string; readonly write: Writer }[] = [];
  const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  for (const [name, same] of selectedFields(sets, fragments)) {
    const write = memberWriter(type, { nodes: same, fragments, path: path && [...path, name] });
    if (write === undefined) return undefined;
    members.push({ label: `${members.length === 0 ? '' : ','}"${name}":`, write });
  }
  return (source, budget) => {
    let text = '{';
    for (const { label, write } of members) text += label + write(source, budget);
    return `${text}}`;
  };
}

function memberWriter(parent: GraphQLObjectType, selected: Selected): Writer | undefined {
  const name = selected.nodes[0].name.value;
  if (name === '__typename') return () => `"${parent.name}"`;
  const type = nonNull(parent.getFields()[name]?.type);
  if (type === GraphQLInt) return intWriter(name, selected);
  if (isLeafType(getNamedType(type)))
    return (source, budget) => {
      const text = source[name] as string;
      budget.write(text);
      return text;
    };
  if (isObjectType(type)) {
    const write = writerOf(type, selected);
    return write && ((source, budget) => write(source[name] as ResolverSource, budget));
  }
  const item = isListType(type) ? nonNull(type.ofType) : undefined;
  if (!isObjectType(item)) return undefined;
  const write = writerOf(item, { ...selected, path: undefined });
  return (
    write &&
    ((source, budget) =>
      `[${(source[name] as readonly ResolverSource[]).map((each) => write(each, budget)).join(',')}]`)
  );
}

/** Unwraps a non-null type; undefined for a nullable type, which only graphql-js can complete. */
function nonNull(type: GraphQLOutputType | undefined): GraphQLOutputType | undefined {
  return isNonNullType(type) ? type.ofType : undefined;
}

/** Creates the writer of an Int, which must fit into 32 bits. Other scalars are copied from the source unchanged. */
function intWriter(name: string, { nodes, path }: Selected): Writer | undefined {
  return (
    path &&
    ((source) => {
      try {
        return String(GraphQLInt.serialize(Number(source[name])));
      } catch (error) {
        throw locatedError(error, nodes, path);
      }
    })
  );
}
