import { typesOf } from '../document-records/typescript.js';
import { projectCommand } from '../line/command.js';
import { describedCollections, sdkNames } from '../line/described-collections.js';
import { usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';

/** `svc openapi` */
export const openapiCommand = projectCommand({
  path: 'openapi',
  summary: 'Prints the OpenAPI 3.1 description of the API for a project, with its collections',
  options: [
    { flag: '--types', summary: 'print TypeScript types of what is read and written instead, for an SDK' },
    { flag: '--sdk', value: 'PACKAGE', summary: 'with --types: the SDK they are for', choices: sdkNames },
  ],
  examples: ['svc openapi --project shop', 'svc openapi --project shop --types > shop.d.ts'],
  run: async (call) => {
    const { args, appliance } = call;
    const project = await call.findProject();
    if (args.text('--sdk') !== undefined && !args.isSet('--types'))
      throw usageError('--sdk says for which SDK --types are', 'add --types');
    if (args.isSet('--types')) {
      const collections = await describedCollections(call, project.id);
      const types = typesOf(collections, args.text('--sdk') ?? sdkNames[0]);
      return { value: { types }, text: Lines.text(types) };
    }
    const value = await appliance.describe(project);
    return { value, text: Lines.text(JSON.stringify(value, null, 2)) };
  },
});
