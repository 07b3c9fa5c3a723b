import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type OperationTypeNode,
  parse,
  validate,
} from 'graphql';
import { graphqlLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/cache/lru.js';
import { countDirectives, countRootFields, limitExceeded, requireFewTokens, requireWithinLimits } from './limits.js';
import { createPlanner, type Plan } from './plan.js';
import type { Resolvers } from './resolvers.js';
import { fragmentsOf } from './selection.js';

const cacheBounds = { bytes: 25_165_824, entries: 2000, largest: 1_048_576 } as const;
/** Measured memory per token of a cached document with its plans. */
const tokenBytes = 500;
/** Longer texts are not cached: they consist mostly of comments, or of values that belong in variables. */
const maxCachedCharacters = 16_384;

/** An operation of a document, prepared for any caller. */
export interface PreparedOperation {
  readonly type: OperationTypeNode;
  readonly rootFields: number;
  /** Undefined if graphql-js must execute the operation. */
  readonly plan: Plan | undefined;
}

/** A parsed and validated document. */
interface PreparedDocument {
  readonly document: DocumentNode;
  /** Returns the operation with this name or, without a name, the only one. */
  operation(name: string | undefined): PreparedOperation | undefined;
}

/** Prepares the document of a query text. Throws GraphQLError. */
export type DocumentCache = (query: string) => PreparedDocument;

/** Parses, measures, validates and plans documents. Caches the results by query text. */
export function createDocumentCache(schema: GraphQLSchema, resolvers: Resolvers): DocumentCache {
  const planner = createPlanner(schema, resolvers);
  const cache = new Lru<PreparedDocument>(cacheBounds);

  const prepare = (document: DocumentNode): PreparedDocument => {
    const fragments = fragmentsOf(document);
    // With directives, variables could change the selection.
    const isPlanned = countDirectives(document) === 0;
    const prepared = (operation: OperationDefinitionNode): PreparedOperation => ({
      type: operation.operation,
      rootFields: countRootFields(operation, fragments),
      plan: isPlanned ? planner(operation, fragments) : undefined,
    });
    const operations = new Map(
      document.definitions.flatMap((definition) =>
        definition.kind === Kind.OPERATION_DEFINITION ? [[definition.name?.value, prepared(definition)] as const] : [],
      ),
    );
    const [only] = operations.size === 1 ? operations.values() : [];
    return { document, operation: (name) => (name === undefined ? only : operations.get(name)) };
  };
  return (query) => {
    const cached = cache.get(query);
    if (cached !== undefined) return cached;
    if (Buffer.byteLength(query) > graphqlLimits.bytes) throw limitExceeded('bytes', graphqlLimits.bytes);
    requireFewTokens(query);
    const document = parse(query);
    requireWithinLimits(document);
    const [error] = validate(schema, document, undefined, { maxErrors: graphqlLimits.errors });
    if (error !== undefined) throw error;
    const prepared = prepare(document);
    if (query.length <= maxCachedCharacters)
      cache.set(query, prepared, 2 * query.length + tokenBytes * (document.tokenCount ?? graphqlLimits.tokens));
    return prepared;
  };
}
