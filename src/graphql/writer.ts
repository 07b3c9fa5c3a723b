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
import type { AnswerRoom } from '#src/contract/answer-room.js';
import type { Source } from './resolvers.js';
import { type Fragments, fieldsOf, type SameFields } from './selection.js';

/**
 * Writes the selected fields of a source as JSON text and counts its bytes, as aliases can repeat one long value many times. Throws
 * GraphQLError and Failure.
 */
type Writer = (source: Source, room: AnswerRoom) => string;

/** A selected field; several nodes may select it. */
export interface Selected {
  readonly nodes: SameFields;
  readonly fragments: Fragments;
  /** Response names from the root; undefined below a list, where there are numbers between them. */
  readonly path: readonly string[] | undefined;
}

/** The writer of an object field; undefined where a selected field is of a kind that only graphql-js can complete. */
export function writerOf(type: GraphQLObjectType, { nodes, fragments, path }: Selected): Writer | undefined {
  const members: { readonly label: string; readonly write: Writer }[] = [];
  const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  for (const [name, same] of fieldsOf(sets, fragments)) {
    const write = memberWriter(type, { nodes: same, fragments, path: path && [...path, name] });
    if (write === undefined) return undefined;
    members.push({ label: `${members.length === 0 ? '' : ','}"${name}":`, write });
  }
  return (source, room) => {
    let text = '{';
    for (const { label, write } of members) text += label + write(source, room);
    return `${text}}`;
  };
}

function memberWriter(parent: GraphQLObjectType, selected: Selected): Writer | undefined {
  const name = selected.nodes[0].name.value;
  if (name === '__typename') return () => `"${parent.name}"`;
  const type = nonNull(parent.getFields()[name]?.type);
  if (type === GraphQLInt) return intWriter(name, selected);
  if (isLeafType(getNamedType(type)))
    return (source, room) => {
      const text = source[name] as string;
      room.write(text);
      return text;
    };
  if (isObjectType(type)) {
    const write = writerOf(type, selected);
    return write && ((source, room) => write(source[name] as Source, room));
  }
  const item = isListType(type) ? nonNull(type.ofType) : undefined;
  if (!isObjectType(item)) return undefined;
  const write = writerOf(item, { ...selected, path: undefined });
  return (
    write && ((source, room) => `[${(source[name] as readonly Source[]).map((each) => write(each, room)).join(',')}]`)
  );
}

/** The type without its `!`; undefined for a nullable one, which only graphql-js can complete. */
function nonNull(type: GraphQLOutputType | undefined): GraphQLOutputType | undefined {
  return isNonNullType(type) ? type.ofType : undefined;
}

/** The writer of an Int, which has 32 bits at most; values of other scalar types are written as the source has them. */
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
