import { z } from 'zod';
import { appTypes } from '#src/contract/platform.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { printJson } from '#src/platform/text/json.js';
import { usageError } from '../terminal/exit.js';

/** YAML is loaded only by the commands that need it. */
const yaml = lazy(() => import('./yaml.js'));

const text = z.string();
const flag = z.boolean().optional();
const list = z.array(text);
const whole = z.union([z.number(), z.bigint()]).nullish();
/** Files contain references to secrets, never the secrets. */
const secret = text
  .regex(/^(env|file):./, 'must be env:NAME or file:PATH, and not the secret itself')
  .regex(/^(?!env:SVC_)/, 'must not be a setting of this service')
  .optional();

const attribute = z.strictObject({
  key: text,
  type: text,
  required: flag,
  array: flag,
  encrypt: flag,
  default: z.unknown().optional(),
  size: whole,
  min: whole,
  max: whole,
  elements: list.optional(),
  relatedCollection: text.optional(),
  relationType: text.optional(),
  twoWay: flag,
  twoWayKey: text.optional(),
  onDelete: text.optional(),
});
const index = z.strictObject({
  key: text,
  type: text,
  attributes: list,
  orders: z.array(text.nullable()).optional(),
  lengths: z.array(z.int().nullable()).optional(),
});
const collection = z.strictObject({
  $id: text,
  name: text,
  enabled: flag,
  documentSecurity: flag,
  $permissions: list.optional(),
  attributes: z.array(attribute).optional(),
  indexes: z.array(index).optional(),
});

const projectFile = z.strictObject({
  project: z.strictObject({
    $id: text,
    name: text.optional(),
    settings: z.record(text, z.unknown()).optional(),
  }),
  platforms: z
    .array(
      z.union([
        z.strictObject({ hostname: text, name: text.optional() }),
        z.strictObject({
          type: z.enum(Object.keys(appTypes) as [keyof typeof appTypes]),
          package: text,
          name: text.optional(),
        }),
      ]),
    )
    .optional(),
  keys: z.array(z.strictObject({ name: text, scopes: list, expire: text.nullish() })).optional(),
  providers: z
    .array(z.looseObject({ key: text, kind: text, name: text.optional(), enabled: flag, clientSecret: secret }))
    .optional(),
  teams: z.array(z.strictObject({ $id: text, name: text })).optional(),
  databases: z
    .array(z.strictObject({ $id: text, name: text, enabled: flag, collections: z.array(collection).optional() }))
    .optional(),
  buckets: z
    .array(
      z.strictObject({
        $id: text,
        name: text,
        enabled: flag,
        fileSecurity: flag,
        $permissions: list.optional(),
        maximumFileSize: z.int().optional(),
        allowedFileExtensions: list.optional(),
        compression: text.optional(),
        encryption: flag,
        transformations: flag,
      }),
    )
    .optional(),
  webhooks: z
    .array(
      z.strictObject({
        $id: text,
        name: text,
        url: text,
        events: list,
        enabled: flag,
        tls: flag,
        authUsername: text.optional(),
        authPassword: secret,
      }),
    )
    .optional(),
});

/** A project as a file, without users, documents, files and secrets. */
export type ProjectFile = z.output<typeof projectFile>;

type ListItem<T> = NonNullable<T> extends readonly (infer Item)[] ? Item : never;

/** A database of a project file. */
export type FileDatabase = ListItem<ProjectFile['databases']>;
/** A collection of a project file. */
export type FileCollection = ListItem<FileDatabase['collections']>;
/** An attribute of a project file. */
export type FileAttribute = ListItem<FileCollection['attributes']>;
/** An index of a project file. */
export type FileIndex = ListItem<FileCollection['indexes']>;
/** A bucket of a project file. */
export type FileBucket = ListItem<ProjectFile['buckets']>;

/** Reads YAML or JSON. Throws CommandError with the line of a syntax error. */
export async function readProjectText(content: string): Promise<unknown> {
  const { parseDocument } = await yaml.get();
  const document = parseDocument(content, { intAsBigInt: true, merge: true });
  const [problem] = document.errors;
  if (problem !== undefined)
    throw usageError(`The file is not YAML or JSON: ${problem.message.split('\n')[0]?.replace(/:$/, '')}.`);
  try {
    return withPlainNumbers(document.toJS({ maxAliasCount: 100 }));
  } catch (error) {
    if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error;
    throw usageError('The file has aliases that refer to themselves, or too many of them.', 'write the values out');
  }
}

/** Validates the content of a project file. Throws CommandError, which names the member that is wrong. */
export function projectFileOf(content: unknown): ProjectFile {
  const parsed = projectFile.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = (issue?.path ?? []).map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
  throw usageError(`The file has a mistake at ${place.join('').replace(/^\./, '') || 'its top'}: ${issue?.message}.`);
}

/** Prints a project file. Equal projects give equal texts. */
export async function printProjectFile(file: ProjectFile, format: 'yaml' | 'json'): Promise<string> {
  if (format === 'json') return printJson(file, 2);
  const { stringify } = await yaml.get();
  return stringify(file, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
}

/** Whole numbers are read as bigint, so that those of 64 bits stay exact; the others become numbers again. */
function withPlainNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(withPlainNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withPlainNumbers(member)]));
}
