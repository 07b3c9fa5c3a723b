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
import type { Request } from './request.js';
import type { Caller, Resolvers } from './resolvers.js';
import { type Fragments, fieldsOf } from './selection.js';
import { type Selected, writerOf } from './writer.js';

/** Runs an operation; undefined where its variables do not fit, and nothing has happened then. */
export type Plan = (given: Request['variables'], caller: Caller) => Promise<Outcome | undefined>;

/** What an operation comes to: its data as JSON text. */
interface Outcome {
  readonly data: string;
  readonly errors: readonly GraphQLError[];
}

/** One run of a plan; errors are added as root fields fail. */
interface Run {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
  readonly errors: GraphQLError[];
}

/** A root field: `"name":`, and what finds its value as JSON text. */
interface RootField {
  readonly label: string;
  readonly value: (run: Run) => Promise<string> | string;
}

/**
 * Makes the plan of an operation in a document that is validated and has no directives. It answers what graphql-js would, byte by byte, but
 * copies text that the domain has printed, where graphql-js wants values, takes each through its type and leaves them to be printed again.
 * What only graphql-js knows, such as introspection, has no plan.
 */
export function createPlanner(schema: GraphQLSchema, resolvers: Resolvers) {
  return (operation: OperationDefinitionNode, fragments: Fragments): Plan | undefined => {
    const root = schema.getRootType(operation.operation);
    const fields: RootField[] = [];
    for (const [name, nodes] of fieldsOf([operation.selectionSet], fragments)) {
      const value = root && rootValue(root, resolvers, { nodes, fragments, path: [name] });
      if (!value) return undefined;
      fields.push({ label: `"${name}":`, value });
    }
    const values = operation.operation === OperationTypeNode.MUTATION ? oneByOne : together;
    return async (given = {}, caller) => {
      const { coerced: variables } = getVariableValues(schema, operation.variableDefinitions ?? [], given);
      if (variables === undefined) return undefined;
      const run: Run = { variables, caller, errors: [] };
      const found = await values(fields, run);
      return { data: `{${fields.map(({ label }, at) => label + found[at]).join(',')}}`, errors: run.errors };
    };
  };
}

function rootValue(root: GraphQLObjectType, resolvers: Resolvers, selected: Selected): RootField['value'] | undefined {
  const { nodes, path } = selected;
  const name = nodes[0].name.value;
  if (name === '__typename') return () => `"${root.name}"`;
  const field = root.getFields()[name];
  const resolve = resolvers[root.name as keyof Resolvers]?.[name];
  // A field that may be null keeps its errors to itself.
  const write = field !== undefined && isObjectType(field.type) ? writerOf(field.type, selected) : undefined;
  if (field === undefined || resolve === undefined || write === undefined) return undefined;
  return async ({ variables, caller, errors }) => {
    try {
      return write(await resolve(undefined, getArgumentValues(field, nodes[0], variables), caller));
    } catch (error) {
      errors.push(locatedError(error, nodes, path));
      return 'null';
    }
  };
}

function together(fields: readonly RootField[], run: Run): Promise<string[]> {
  return Promise.all(fields.map(({ value }) => value(run)));
}

async function oneByOne(fields: readonly RootField[], run: Run): Promise<string[]> {
  const values: string[] = [];
  for (const { value } of fields) values.push(await value(run));
  return values;
}
