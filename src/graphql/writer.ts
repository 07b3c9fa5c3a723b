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
import type { Source } from './resolvers.js';
import { type Fragments, fieldsOf, type SameFields } from './selection.js';

/** Writes what a selection asks of a source as JSON text. Throws GraphQLError. */
type Writer = (source: Source) => string;

/** A field that is selected, in one place or several. */
export interface Selected {
  readonly nodes: SameFields;
  readonly fragments: Fragments;
  /** Response names from the root; undefined below a list, where there are numbers between them. */
  readonly path: readonly string[] | undefined;
}

/** The writer of a field that is an object; undefined where something is selected from it that is not of the kinds written here. */
export function writerOf(type: GraphQLObjectType, { nodes, fragments, path }: Selected): Writer | undefined {
  const members: { readonly label: string; readonly write: Writer }[] = [];
  const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  for (const [name, same] of fieldsOf(sets, fragments)) {
    const write = memberWriter(type, { nodes: same, fragments, path: path && [...path, name] });
    if (write === undefined) return undefined;
    members.push({ label: `${members.length === 0 ? '' : ','}"${name}":`, write });
  }
  return (source) => {
    let text = '{';
    for (const { label, write } of members) text += label + write(source);
    return `${text}}`;
  };
}

function memberWriter(parent: GraphQLObjectType, selected: Selected): Writer | undefined {
  const name = selected.nodes[0].name.value;
  if (name === '__typename') return () => `"${parent.name}"`;
  const type = required(parent.getFields()[name]?.type);
  if (type === GraphQLInt) return intWriter(name, selected);
  if (isLeafType(getNamedType(type))) return (source) => source[name] as string;
  if (isObjectType(type)) {
    const write = writerOf(type, selected);
    return write && ((source) => write(source[name] as Source));
  }
  const item = isListType(type) ? required(type.ofType) : undefined;
  if (!isObjectType(item)) return undefined;
  const write = writerOf(item, { ...selected, path: undefined });
  return write && ((source) => `[${(source[name] as readonly Source[]).map(write).join(',')}]`);
}

/** The type without its `!`. */
function required(type: GraphQLOutputType | undefined): GraphQLOutputType | undefined {
  return isNonNullType(type) ? type.ofType : undefined;
}

/** The other values are written as the source has them, but an Int has 32 bits at most. */
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
