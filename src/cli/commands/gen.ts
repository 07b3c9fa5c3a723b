import { readFileSync, writeFileSync } from 'node:fs';
import { whyUnreadable, whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { clientMark, typedClientOf } from '../document-records/typed-client.js';
import { projectCommand } from '../line/command.js';
import { describedCollections, sdkNames } from '../line/described-collections.js';
import { conflictError, failedError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';

const client = projectCommand({
  path: 'gen client',
  summary: 'Writes a TypeScript module with a typed client of the collections of a project, over an SDK',
  options: [
    { flag: '--out', value: 'FILE', summary: 'file to write; - is stdout', required: true },
    { flag: '--sdk', value: 'PACKAGE', summary: 'the SDK that it uses (default: appwrite)', choices: sdkNames },
    { flag: '--check', summary: 'write nothing, and end with exit code 5 if the file is not up to date' },
  ],
  examples: [
    'svc gen client --project shop --out client.ts',
    'svc gen client --project shop --out server.ts --sdk node-appwrite --json',
  ],
  run: async (call) => {
    const { args } = call;
    const project = await call.findProject();
    const collections = await describedCollections(call, project.id);
    const text = typedClientOf(project.id, collections, args.text('--sdk') ?? sdkNames[0]);
    const file = args.required('--out');
    if (file === '-') return { value: { file, changed: true }, text: Lines.text(text.trimEnd()) };
    const before = contentOf(file);
    const value = { file, changed: before !== text };
    if (!value.changed) return { value, text: `${file} is up to date.` };
    if (args.isSet('--check'))
      throw conflictError(
        'client_outdated',
        `${file} is not what the collections of the project ${project.id} give.`,
        `svc gen client --project ${project.id} --out ${file}`,
      );
    if (before !== undefined && !before.startsWith(clientMark))
      throw conflictError(
        'file_exists',
        `${file} was not made by svc gen client, and is not overwritten.`,
        'name another file, or delete it first',
      );
    write(file, text);
    return { value, text: `${file} has the client of ${collections.length} collections.` };
  },
});

/** `svc gen …` */
export const genCommands = [client];

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw failedError('file_not_readable', `${file} cannot be read: ${whyUnreadable(error)}.`);
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw failedError('file_not_writable', `${file} cannot be written: ${whyUnwritable(error)}.`);
  }
}
