// The types of graphql-helix cannot be resolved under `module: nodenext`; these are the parts in use.
declare module 'graphql-helix' {
  import type { DocumentNode, ExecutionResult, GraphQLError, GraphQLSchema, OperationDefinitionNode } from 'graphql';

  interface Options<C> {
    readonly schema: GraphQLSchema;
    readonly query: string | undefined;
    readonly variables: unknown;
    readonly operationName: string | undefined;
    readonly request: {
      readonly method: string;
      readonly headers: Record<string, string>;
      readonly body: unknown;
      readonly query: unknown;
    };
    readonly parse: (query: string) => DocumentNode;
    readonly validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[];
    readonly contextFactory: (execution: {
      readonly document: DocumentNode;
      readonly operation: OperationDefinitionNode;
    }) => C;
  }
  type Result =
    | { readonly type: 'RESPONSE'; readonly status: number; readonly payload: ExecutionResult }
    | { readonly type: 'PUSH' | 'MULTIPART_RESPONSE' };
  export function processRequest<C>(options: Options<C>): Promise<Result>;
}
