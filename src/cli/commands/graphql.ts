import { sdl } from '#src/graphql/sdl.js';
import { command, projectOption } from '../command.js';

const schema = command({
  path: 'graphql schema',
  summary: 'Prints the GraphQL schema that a project is served',
  options: [projectOption],
  examples: ['svc graphql schema --project shop', 'svc graphql schema --project shop > schema.graphql'],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features } }) => {
    await features.projects.get(platform.db, typed.required('--project'));
    return { value: { schema: sdl }, text: sdl };
  },
});

/** `svc graphql …` */
export const graphqlCommands = [schema];
