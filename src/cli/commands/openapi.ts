import { command, projectOption } from '../command.js';
import { Lines } from '../lines.js';

/** `svc openapi` */
export const openapiCommand = command({
  path: 'openapi',
  summary: 'Prints the OpenAPI 3.1 description of the API for a project',
  options: [projectOption],
  examples: ['svc openapi --project shop', 'svc openapi --project shop > openapi.json'],
  needs: 'appliance',
  run: async ({ args, runtime, features, appliance: { describe } }) => {
    const value = describe(await features.projects.get(runtime.db, args.required('--project')));
    return { value, text: Lines.text(JSON.stringify(value, null, 2)) };
  },
});
