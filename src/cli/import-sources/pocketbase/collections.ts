import { z } from 'zod';
import type { ForeignSqlite } from '#src/platform/foreign-databases/index.js';
import { usageError } from '../../terminal/exit.js';

const rule = z.string().nullable();
const field = z.looseObject({
  name: z.string(),
  type: z.string(),
  hidden: z.boolean().default(false),
  required: z.boolean().default(false),
  // Of dates these are texts.
  max: z.number().nullish().catch(null),
  maxSize: z.number().nullish(),
  maxSelect: z.number().nullish(),
  min: z.number().nullish().catch(null),
  onlyInt: z.boolean().nullish(),
  values: z.array(z.string()).nullish(),
  collectionId: z.string().nullish(),
  cascadeDelete: z.boolean().nullish(),
  onCreate: z.boolean().nullish(),
  onUpdate: z.boolean().nullish(),
});
/** A field of a collection of PocketBase. */
export type SourceField = z.output<typeof field>;

const json = <S extends z.ZodType>(shape: S) =>
  z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue('must be JSON');
        return z.NEVER;
      }
    })
    .pipe(shape);
const enabled = z.looseObject({ enabled: z.boolean().default(false) }).nullish();
const options = z.looseObject({
  authRule: rule.default(''),
  passwordAuth: enabled,
  mfa: enabled,
  otp: enabled,
  oauth2: z.looseObject({ providers: z.array(z.looseObject({ name: z.string() })).nullish() }).nullish(),
});
const collection = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  system: z.coerce.boolean(),
  fields: json(z.array(field)),
  indexes: json(z.array(z.string()).nullish()).transform((list) => list ?? []),
  listRule: rule,
  viewRule: rule,
  createRule: rule,
  updateRule: rule,
  deleteRule: rule,
  options: json(options),
});
/** A collection of PocketBase. */
export type PocketBaseCollection = z.output<typeof collection>;

/** Reads the collections. Throws CommandError if the database is none of PocketBase, or of a version before 0.23. */
export async function readCollections(database: ForeignSqlite, file: string): Promise<PocketBaseCollection[]> {
  const columns = await database.all('SELECT name FROM pragma_table_info(?)', '_collections');
  const has = (name: string) => columns.some((column) => column.name === name);
  if (has('schema'))
    throw usageError(
      `${file} is of PocketBase 0.22 or older.`,
      'start the newest PocketBase once with a copy of the directory, which upgrades it, and import that copy',
    );
  if (!has('fields'))
    throw usageError(`${file} is no database of PocketBase.`, 'name the directory pb_data, which contains data.db');
  const rows = await database.all('SELECT * FROM _collections ORDER BY created, name');
  return rows.map((row) => {
    const parsed = collection.safeParse(row);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw usageError(
      `${file} has a collection ${String(row.name)} that this version of svc cannot read: ${issue?.path.join('.')} ${issue?.message}.`,
    );
  });
}
