import { command, projectOption } from '../command.js';

/** `svc openapi` */
export const openapiCommand = command({
  path: 'openapi',
  summary: 'Prints the OpenAPI 3.1 description that a project is served',
  options: [projectOption],
  examples: ['svc openapi --project shop', 'svc openapi --project shop > openapi.json'],
  needs: 'appliance',
  run: async ({ typed, appliance: { platform, features, describe } }) => {
    const value = describe(await features.projects.get(platform.db, typed.required('--project')));
    return { value, text: JSON.stringify(value, null, 2) };
  },
});
