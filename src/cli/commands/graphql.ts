import { sdl } from '#src/graphql/sdl.js';
import { command, projectOption } from '../command.js';
import { Lines } from '../lines.js';

const schema = command({
  path: 'graphql schema',
  summary: 'Prints the GraphQL schema of a project',
  options: [projectOption],
  examples: ['svc graphql schema --project shop', 'svc graphql schema --project shop > schema.graphql'],
  needs: 'appliance',
  run: async ({ args, runtime, features }) => {
    await features.projects.get(runtime.db, args.required('--project'));
    return { value: { schema: sdl }, text: Lines.text(sdl) };
  },
});

/** `svc graphql …` */
export const graphqlCommands = [schema];
