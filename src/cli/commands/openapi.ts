import { schemaLimits } from '#src/contract/limits.js';
import { typesOf } from '../document-records/typescript.js';
import { command, projectOption } from '../line/command.js';
import { CommandError, usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';

const sdks = ['appwrite', 'node-appwrite'] as const;

/** `svc openapi` */
export const openapiCommand = command({
  path: 'openapi',
  summary: 'Prints the OpenAPI 3.1 description of the API for a project, with its collections',
  options: [
    projectOption,
    { flag: '--types', summary: 'print TypeScript types of what is read and written instead, for an SDK' },
    { flag: '--sdk', value: 'PACKAGE', summary: 'with --types: the SDK they are for', choices: sdks },
  ],
  examples: ['svc openapi --project shop', 'svc openapi --project shop --types > shop.d.ts'],
  needs: 'appliance',
  run: async ({ args, runtime, features, appliance: { describe } }) => {
    const project = await features.projects.get(runtime.db, args.required('--project'));
    if (args.text('--sdk') !== undefined && !args.isSet('--types'))
      throw usageError('--sdk says for which SDK --types are', 'add --types');
    if (args.isSet('--types')) {
      const collections = await features.databases.describedCollections(runtime.db, project.id);
      if (collections === undefined) {
        throw new CommandError(
          'failed',
          'schema_too_large',
          `the collections of the project have more than ${schemaLimits.describedBytes} bytes of attributes`,
          `svc collection list --project ${project.id}`,
        );
      }
      const types = typesOf(collections, args.text('--sdk') ?? sdks[0]);
      return { value: { types }, text: Lines.text(types) };
    }
    const value = await describe(project);
    return { value, text: Lines.text(JSON.stringify(value, null, 2)) };
  },
});
