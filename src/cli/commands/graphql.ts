import { sdlOf } from '#src/graphql/project-sdl.js';
import { command, projectOption } from '../line/command.js';
import { Lines } from '../terminal/lines.js';

const schemaCommand = command({
  path: 'graphql schema',
  summary: 'Prints the GraphQL schema of a project, with what its documents hold',
  options: [projectOption],
  examples: ['svc graphql schema --project shop', 'svc graphql schema --project shop > schema.graphql'],
  needs: 'appliance',
  run: async ({ args, runtime, features }) => {
    const project = await features.projects.get(runtime.db, args.required('--project'));
    const schema = sdlOf((await features.databases.describedCollections(runtime.db, project.id)) ?? []);
    return { value: { schema }, text: Lines.text(schema) };
  },
});

/** `svc graphql …` */
export const graphqlCommands = [schemaCommand];
