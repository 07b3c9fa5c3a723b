import { sdlOf } from '#src/graphql/project-sdl.js';
import { projectCommand } from '../line/command.js';
import { Lines } from '../terminal/lines.js';

const schemaCommand = projectCommand({
  path: 'graphql schema',
  summary: 'Prints the GraphQL schema of a project, with what its documents hold',
  examples: ['svc graphql schema --project shop', 'svc graphql schema --project shop > schema.graphql'],
  run: async ({ runtime, features, findProject }) => {
    const { id } = await findProject();
    const schema = sdlOf((await features.databases.describedCollections(runtime.db, id)) ?? []);
    return { value: { schema }, text: Lines.text(schema) };
  },
});

/** `svc graphql …` */
export const graphqlCommands = [schemaCommand];
