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
import { countRootFields, demandFewTokens, demandWithinLimits, limitExceeded } from './limits.js';
import { createPlanner, type Plan } from './plan.js';
import type { Resolvers } from './resolvers.js';
import { fragmentsOf, isFixed } from './selection.js';

/** How many tokens the kept documents have together, so that keeping them costs some megabytes at most. */
const mostKeptTokens = 50_000;

/** An operation of a document, with all that does not depend on who asks for it. */
export interface PreparedOperation {
  readonly isMutation: boolean;
  readonly rootFields: number;
  /** Absent where graphql-js has to execute it. */
  readonly plan: Plan | undefined;
}

/** A parsed and validated text. */
interface PreparedDocument {
  readonly document: DocumentNode;
  /** The operation of a name, or the only one. */
  operation(name: string | undefined): PreparedOperation | undefined;
}

/** Parses, measures, validates and plans; the result is kept for each text, up to so many. Throws GraphQLError. */
export function createPreparing(schema: GraphQLSchema, resolvers: Resolvers): (query: string) => PreparedDocument {
  const planner = createPlanner(schema, resolvers);
  const known = new Map<string, PreparedDocument>();
  let tokens = 0;

  const prepare = (document: DocumentNode): PreparedDocument => {
    const fragments = fragmentsOf(document);
    const isPlanned = isFixed(document);
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
    const before = known.get(query);
    if (before !== undefined) return before;
    if (Buffer.byteLength(query) > graphqlLimits.bytes) throw limitExceeded('bytes', graphqlLimits.bytes);
    demandFewTokens(query);
    const document = parse(query);
    demandWithinLimits(document);
    const [error] = validate(schema, document, undefined, { maxErrors: graphqlLimits.errors });
    if (error !== undefined) throw error;
    const prepared = prepare(document);
    tokens += document.tokenCount ?? graphqlLimits.tokens;
    if (tokens > mostKeptTokens) {
      known.clear();
      tokens = document.tokenCount ?? graphqlLimits.tokens;
    }
    known.set(query, prepared);
    return prepared;
  };
}
