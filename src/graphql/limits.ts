import { type DocumentNode, GraphQLError, Kind, Lexer, type SelectionSetNode, Source, TokenKind, visit } from 'graphql';
import { graphqlLimits } from '#src/contract/limits.js';
import { type Fragments, fragmentsOf } from './selection.js';

interface Size {
  readonly depth: number;
  readonly introspectionDepth: number;
  readonly aliases: number;
  readonly fields: number;
}

const nothing: Size = { depth: 0, introspectionDepth: 0, aliases: 0, fields: 0 };

/** Creates the error for a request that exceeds a limit. */
export function limitExceeded(what: string, max: number): GraphQLError {
  return new GraphQLError(`The request has more than ${max} ${what}.`, {
    extensions: { code: 400, type: 'graphql_limit_exceeded' },
  });
}

const opening: readonly string[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const closing: readonly string[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Throws GraphQLError for a text with too many tokens or too deeply nested brackets, before it is parsed. */
export function requireFewTokens(query: string): void {
  const lexer = new Lexer(new Source(query));
  let depth = 0;
  for (let count = 1; lexer.advance().kind !== TokenKind.EOF; count++) {
    const { kind } = lexer.token;
    if (count > graphqlLimits.tokens) throw limitExceeded('tokens', graphqlLimits.tokens);
    if (opening.includes(kind)) depth += 1;
    if (closing.includes(kind)) depth -= 1;
    if (depth > graphqlLimits.nesting) throw limitExceeded('brackets within each other', graphqlLimits.nesting);
  }
}

/** Throws GraphQLError for a document that exceeds a limit. Measures each fragment at most twice, which bounds the time of the check. */
export function requireWithinLimits(document: DocumentNode): void {
  const fragments = fragmentsOf(document);
  if (fragments.size > graphqlLimits.fragments) throw limitExceeded('fragments', graphqlLimits.fragments);
  if (countDirectives(document) > graphqlLimits.directives) throw limitExceeded('directives', graphqlLimits.directives);
  const measured = new Map<string, Size>();
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const { depth, introspectionDepth, aliases, fields } = measure(definition.selectionSet, fragments, measured, false);
    if (depth > graphqlLimits.depth) throw limitExceeded('levels', graphqlLimits.depth);
    if (introspectionDepth > graphqlLimits.introspectionDepth)
      throw limitExceeded('levels of introspection', graphqlLimits.introspectionDepth);
    if (aliases > graphqlLimits.aliases) throw limitExceeded('aliases', graphqlLimits.aliases);
    if (fields > graphqlLimits.rootFields) throw limitExceeded('root fields', graphqlLimits.rootFields);
  }
}

function measure(
  set: SelectionSetNode,
  fragments: Fragments,
  measured: Map<string, Size>,
  inIntrospection: boolean,
): Size {
  let total = nothing;
  const add = (size: Size, fields: number) => {
    total = {
      depth: Math.max(total.depth, size.depth),
      introspectionDepth: Math.max(total.introspectionDepth, size.introspectionDepth),
      aliases: total.aliases + size.aliases,
      fields: total.fields + fields,
    };
  };
  for (const selection of set.selections) {
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      const inner = measure(selection.selectionSet, fragments, measured, inIntrospection);
      add(inner, inner.fields);
    } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
      const inner = measureFragment(selection.name.value, fragments, measured, inIntrospection);
      add(inner, inner.fields);
    } else {
      const introspects = inIntrospection || selection.name.value.startsWith('__');
      const inner =
        selection.selectionSet === undefined
          ? nothing
          : measure(selection.selectionSet, fragments, measured, introspects);
      add(
        {
          depth: introspects ? inner.depth : inner.depth + 1,
          introspectionDepth: introspects ? inner.introspectionDepth + 1 : inner.introspectionDepth,
          aliases: inner.aliases + (selection.alias === undefined ? 0 : 1),
          fields: 0,
        },
        1,
      );
    }
  }
  return total;
}

function measureFragment(
  name: string,
  fragments: Fragments,
  measured: Map<string, Size>,
  inIntrospection: boolean,
): Size {
  const key = `${inIntrospection} ${name}`;
  const cached = measured.get(key);
  if (cached !== undefined) return cached;
  const fragment = fragments.get(name);
  if (fragment === undefined) return nothing;
  // A fragment may contain itself until validation rejects it. Counting it as empty ends the recursion.
  measured.set(key, nothing);
  const size = measure(fragment.selectionSet, fragments, measured, inIntrospection);
  measured.set(key, size);
  return size;
}

/** Counts the directives of a document. */
export function countDirectives(document: DocumentNode): number {
  let count = 0;
  visit(document, {
    Directive: () => {
      count += 1;
    },
  });
  return count;
}

/** Counts the root fields of an operation, including those in fragments. Each is one call for the rate limits. */
export function countRootFields(operation: { readonly selectionSet: SelectionSetNode }, fragments: Fragments): number {
  return measure(operation.selectionSet, fragments, new Map(), false).fields;
}
