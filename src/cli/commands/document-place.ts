import type { Attribute, TransferPlace } from '#src/features/index.js';
import { type DocumentFormat, documentFormats } from '../document-records/index.js';
import type { ApplianceCall } from '../line/command.js';

/** The flag that selects a collection. */
export const collectionOption = {
  flag: '--collection',
  value: 'ID',
  summary: 'the collection',
  required: true,
} as const;
/** The flag for the file format. */
export const formatOption = {
  flag: '--format',
  value: 'FORMAT',
  summary: 'form of the file (default: csv where its name ends so, ndjson otherwise)',
  choices: documentFormats,
} as const;

/** Resolves the collection of a command, and reads its attributes. Throws Failure if it does not exist. */
export async function transferPlace({
  args,
  features,
  findProject,
  runtime,
}: ApplianceCall): Promise<{ readonly place: TransferPlace; readonly attributes: readonly Attribute[] }> {
  const project = await findProject();
  const place = { databaseId: args.required('--database'), collectionId: args.required('--collection') };
  const { attributes } = await features.databases.getCollection(runtime.db, { projectId: project.id, ...place });
  return { place: { project, ...place }, attributes };
}

/** Prints a note about the format if the file extension does not indicate one. */
export function noteForm({ args, output }: ApplianceCall, file: string, format: DocumentFormat): void {
  const [ending] = /\.[^./]+$/.exec(file) ?? [];
  if (args.text('--format') !== undefined || ending === undefined || /^\.(csv|ndjson|jsonl)$/i.test(ending)) return;
  output.note(
    `The ending ${ending} names no form, so ${file} is written as ${format}, a JSON object a line. ` +
      'Endings are .csv, .ndjson and .jsonl; for other names there is --format csv.',
  );
}

/** Determines the format of a file by flag or extension. */
export function formatOf({ args }: ApplianceCall, file: string): DocumentFormat {
  const given = documentFormats.find((format) => format === args.text('--format'));
  return given ?? (/\.csv$/i.test(file) ? 'csv' : 'ndjson');
}
