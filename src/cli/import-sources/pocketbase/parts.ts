import type { ForeignSqlite } from '#src/platform/foreign-databases/index.js';
import type { FileAttribute, FileBucket, FileCollection } from '../../project-file/file.js';
import { type Access, containerPermissions, hasOwners } from '../grants.js';
import { fittedIndexes } from '../indexes.js';
import { attributeKeys, isKey, quotedName } from '../keys.js';
import type { UnsupportedList } from '../unsupported-list.js';
import { isPrivate, noAccess, ruleAccess, type UserGroups } from './access.js';
import type { PocketBaseCollection, SourceField } from './collections.js';
import { type FieldSize, fieldAttribute, isTimeField, type RelatedOf } from './fields.js';

/** Fields of a collection that become one collection of documents and one bucket. */
export interface CollectionPart {
  /** The id of the collection and of the bucket. */
  readonly id: string;
  readonly source: PocketBaseCollection;
  readonly access: Access;
  /** The imported fields with the keys of their attributes. */
  readonly fields: ReadonlyMap<SourceField, string>;
  /** False if the values become preferences of users. */
  readonly hasDocuments: boolean;
  /** Upper bound of the bytes of a row. */
  readonly rowBytes: number;
}

/** Fields of records that are no data of the application. */
const ofSystem = ['id', 'password', 'tokenKey', 'email', 'emailVisibility', 'verified'];

function isOwnField(source: PocketBaseCollection, field: SourceField): boolean {
  if (field.name === 'id' || isTimeField(field)) return false;
  return source.type !== 'auth' || !ofSystem.includes(field.name);
}

/**
 * Divides collections into parts. Fields that PocketBase hides from clients get a part of their own that only server keys can read. An auth
 * collection has documents only if others than the user can read its records, or if users cannot change their own.
 */
export async function partsOf(
  database: ForeignSqlite,
  collections: readonly PocketBaseCollection[],
  groups: UserGroups,
  unsupported: UnsupportedList,
): Promise<{ parts: CollectionPart[]; schemas: FileCollection[]; buckets: FileBucket[] }> {
  const data = collections.filter(({ type, system }) => !system && (type === 'base' || type === 'auth'));
  for (const { name, type, system } of collections)
    if (type === 'view') unsupported.add('view', `${name}: a collection of type view has no counterpart.`);
    else if (!system && !data.some((one) => one.name === name))
      unsupported.add('collection', `${name}: the type ${type} is unknown.`);
  const isAuth = (id: string) => collections.some((one) => one.id === id && one.type === 'auth');
  const [parts, schemas, buckets]: [CollectionPart[], FileCollection[], FileBucket[]] = [[], [], []];
  const idOf = ({ id, name }: PocketBaseCollection) => (isKey(name) && name.length <= 28 ? name : id);
  const relatedOf: RelatedOf = ({ collectionId }) => {
    const target = data.find(({ id, type }) => id === collectionId && type === 'base');
    return target && idOf(target);
  };
  for (const source of data) {
    const keys = attributeKeys(source.fields.map(({ name }) => name));
    for (const [name, key] of keys)
      if (name !== key) unsupported.add('name', `${source.name}.${name}: the attribute is called ${key} here.`);
    const { sizes, rowBytes } = await measured(database, source);
    const access = ruleAccess(source, groups, isAuth, unsupported);
    const own = source.fields.filter((field) => {
      if (!isOwnField(source, field)) return false;
      if (fieldAttribute(field, { characters: 0, isForeignUrl: false }, relatedOf) !== undefined) return true;
      const reason = field.type === 'password' ? 'a password outside an auth collection' : `the type ${field.type}`;
      unsupported.add('field', `${source.name}.${field.name}: ${reason} has no counterpart.`);
      return false;
    });
    const visible = own.filter(({ hidden }) => !hidden);
    const hidden = own.filter((field) => field.hidden);
    const add = (id: string, fields: readonly SourceField[], given: Access, hasDocuments: boolean) => {
      const part: CollectionPart = {
        id,
        source,
        access: given,
        hasDocuments,
        rowBytes,
        fields: new Map(fields.map((field) => [field, keys.get(field.name) ?? field.name])),
      };
      parts.push(part);
      const security = { $permissions: containerPermissions(given) };
      if (hasDocuments) schemas.push({ ...schemaOf(part, sizes, relatedOf, unsupported), ...security });
      if (fields.some(({ type }) => type === 'file'))
        buckets.push({ $id: id, name: id, fileSecurity: hasOwners(given), ...security });
    };
    const id = idOf(source);
    const inPrefs = source.type === 'auth' && isPrivate(access);
    if (source.type === 'base' || visible.length > 0)
      add(id, visible, source.type === 'auth' ? { ...access, create: [], delete: [] } : access, !inPrefs);
    if (hidden.length > 0) {
      add(`${id}-private`, hidden, noAccess, true);
      unsupported.add(
        'hidden fields',
        `${source.name}: ${hidden.map(({ name }) => name).join(', ')} are in documents of ${id}-private with the same ids, which only server keys can read.`,
      );
    }
  }
  return { parts, schemas, buckets };
}

function schemaOf(
  { id, fields, source, access }: CollectionPart,
  sizes: ReadonlyMap<string, FieldSize>,
  relatedOf: RelatedOf,
  unsupported: UnsupportedList,
): Omit<FileCollection, '$permissions'> {
  const sizeOf = (name: string) => sizes.get(name) ?? { characters: 0, isForeignUrl: false };
  const attributes = [...fields].flatMap(([field, key]): FileAttribute[] => {
    const attribute = fieldAttribute(field, sizeOf(field.name), relatedOf);
    return attribute === undefined ? [] : [{ key, ...attribute }];
  });
  const named = new Map([...fields].map(([{ name }, key]) => [name, key]));
  const keyOf = (column: string) =>
    named.get(column) ??
    { id: '$id', created: timeKey(source, 'created'), updated: timeKey(source, 'updated') }[column];
  const longest = (key: string) => sizeOf([...fields].find(([, one]) => one === key)?.[0].name ?? '').characters;
  const ofPart = source.indexes.filter((sql) => source.type === 'base' || !/\b(tokenKey|email)\b/.test(sql));
  const indexes = fittedIndexes(ofPart, attributes, keyOf, longest, (sql, reason) => {
    // Indexes of hidden fields are reported once.
    if (!id.endsWith('-private')) unsupported.add('index', `${source.name}: ${reason} ${sql}`);
  });
  return {
    $id: id,
    name: id === source.id ? source.name : id,
    documentSecurity: hasOwners(access),
    attributes,
    indexes,
  };
}

function timeKey({ fields }: PocketBaseCollection, name: 'created' | 'updated'): string | undefined {
  return fields.some((field) => field.name === name && isTimeField(field)) ? `$${name}At` : undefined;
}

/** Measures the values of texts in one pass over the table. */
async function measured(database: ForeignSqlite, { name, fields }: PocketBaseCollection) {
  const texts = fields.filter(({ type }) => !['bool', 'number', 'autodate', 'date'].includes(type));
  const column = (field: SourceField) => quotedName(field.name);
  const sums = texts.flatMap((field, at) => [
    `max(length(${column(field)})) AS c${at}`,
    ...(field.type === 'url'
      ? [
          `max(${column(field)} <> '' AND ${column(field)} NOT LIKE 'http://%' AND ${column(field)} NOT LIKE 'https://%') AS u${at}`,
        ]
      : []),
  ]);
  const [row = {}] = await database.all(`SELECT ${['count(*) AS n', ...sums].join(', ')} FROM ${quotedName(name)}`);
  const sizes = new Map(
    texts.map((field, at): [string, FieldSize] => [
      field.name,
      { characters: Number(row[`c${at}`] ?? 0), isForeignUrl: Number(row[`u${at}`] ?? 0) > 0 },
    ]),
  );
  const rowBytes = 200 + [...sizes.values()].reduce((sum, { characters }) => sum + 3 * characters, 0);
  return { sizes, rowBytes };
}
