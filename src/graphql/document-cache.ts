import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  validate,
} from 'graphql';
import { graphqlLimits } from '#src/contract/limits.js';
import { Lru } from '#src/platform/lru.js';
import { countRootFields, demandFewTokens, demandWithinLimits, limitExceeded } from './limits.js';
import { createPlanner, type Plan } from './plan.js';
import type { Resolvers } from './resolvers.js';
import { fragmentsOf, hasNoDirectives } from './selection.js';

const cacheBounds = { bytes: 25_165_824, entries: 2000, largest: 1_048_576 } as const;
/** Memory that a cached document and its plans take for each token, as measured. */
const tokenBytes = 500;
/** Longer texts are not cached: most of such a text is comments, or values that belong into variables. */
const maxCachedCharacters = 16_384;

/** An operation of a document, prepared for any caller. */
export interface PreparedOperation {
  readonly isMutation: boolean;
  readonly rootFields: number;
  /** Undefined where graphql-js has to execute it. */
  readonly plan: Plan | undefined;
}

/** A document that is parsed and validated. */
interface PreparedDocument {
  readonly document: DocumentNode;
  /** The operation of that name, or the only one of the document. */
  operation(name: string | undefined): PreparedOperation | undefined;
}

/** Parses, measures, validates and plans documents, and caches the result by their text. Throws GraphQLError. */
export function createDocumentCache(schema: GraphQLSchema, resolvers: Resolvers): (query: string) => PreparedDocument {
  const planner = createPlanner(schema, resolvers);
  const cache = new Lru<PreparedDocument>(cacheBounds);

  const prepare = (document: DocumentNode): PreparedDocument => {
    const fragments = fragmentsOf(document);
    const isPlanned = hasNoDirectives(document);
    const prepared = (operation: OperationDefinitionNode): PreparedOperation => ({
      isMutation: operation.operation === OperationTypeNode.MUTATION,
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
    demandFewTokens(query);
    const document = parse(query);
    demandWithinLimits(document);
    const [error] = validate(schema, document, undefined, { maxErrors: graphqlLimits.errors });
    if (error !== undefined) throw error;
    const prepared = prepare(document);
    if (query.length <= maxCachedCharacters)
      cache.set(query, prepared, 2 * query.length + tokenBytes * (document.tokenCount ?? graphqlLimits.tokens));
    return prepared;
  };
}
