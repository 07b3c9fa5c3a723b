import {
  type GraphQLError,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  isObjectType,
  locatedError,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import type { GraphqlRequest } from './request.js';
import type { GraphqlCaller, Resolvers } from './resolvers.js';
import { type Fragments, selectedFields } from './selection.js';
import { type Selected, writerOf } from './writer.js';

/** Executes an operation. Returns undefined, before any resolver runs, if the variables are invalid. */
export type Plan = (input: GraphqlRequest['variables'], caller: GraphqlCaller) => Promise<PlanResult | undefined>;

/** The result of an operation; `data` is JSON text. */
interface PlanResult {
  readonly data: string;
  readonly errors: readonly GraphQLError[];
}

/** One execution of a plan. Errors of root fields are appended. */
interface Run {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly caller: GraphqlCaller;
  readonly errors: GraphQLError[];
}

/** A root field: its label `"name":` and the function that resolves its value as JSON text. */
interface RootField {
  readonly label: string;
  readonly resolve: (run: Run) => Promise<string> | string;
}

/**
 * Plans an operation of a validated document without directives; undefined if only graphql-js can run it, such as introspection. The response
 * has the same bytes, but copies JSON that the domain has printed. graphql-js would parse, complete and reprint it.
 */
export function createPlanner(schema: GraphQLSchema, resolvers: Resolvers) {
  return (operation: OperationDefinitionNode, fragments: Fragments): Plan | undefined => {
    const root = schema.getRootType(operation.operation);
    const fields: RootField[] = [];
    for (const [name, nodes] of selectedFields([operation.selectionSet], fragments)) {
      const resolve = root && rootResolver(root, resolvers, { nodes, fragments, path: [name] });
      if (!resolve) return undefined;
      fields.push({ label: `"${name}":`, resolve });
    }
    const resolveAll = operation.operation === OperationTypeNode.MUTATION ? resolveInSeries : resolveInParallel;
    return async (input = {}, caller) => {
      const { coerced: variables } = getVariableValues(schema, operation.variableDefinitions ?? [], input);
      if (variables === undefined) return undefined;
      const run: Run = { variables, caller, errors: [] };
      const values = await resolveAll(fields, run);
      return { data: `{${fields.map(({ label }, at) => label + values[at]).join(',')}}`, errors: run.errors };
    };
  };
}

function rootResolver(
  root: GraphQLObjectType,
  resolvers: Resolvers,
  selected: Selected,
): RootField['resolve'] | undefined {
  const { nodes, path } = selected;
  const name = nodes[0].name.value;
  if (name === '__typename') return () => `"${root.name}"`;
  const field = root.getFields()[name];
  const resolve = resolvers[root.name as keyof Resolvers]?.[name];
  const write = field !== undefined && isObjectType(field.type) ? writerOf(field.type, selected) : undefined;
  if (field === undefined || resolve === undefined || write === undefined) return undefined;
  return async ({ variables, caller, errors }) => {
    try {
      const source = await resolve(undefined, getArgumentValues(field, nodes[0], variables), caller);
      return write(source, caller.request.budget);
    } catch (error) {
      errors.push(locatedError(error, nodes, path));
      // Root fields are nullable: the others keep their values.
      return 'null';
    }
  };
}

function resolveInParallel(fields: readonly RootField[], run: Run): Promise<string[]> {
  return Promise.all(fields.map(({ resolve }) => resolve(run)));
}

async function resolveInSeries(fields: readonly RootField[], run: Run): Promise<string[]> {
  const values: string[] = [];
  for (const { resolve } of fields) values.push(await resolve(run));
  return values;
}
