import { createHash } from 'node:crypto';
import type { ImportedDocument } from '#src/features/index.js';
import type { ForeignRow } from '#src/platform/foreign-databases/index.js';
import type { FileAttribute, FileCollection } from '../../project-file/file.js';
import { type Access, containerPermissions, hasOwners, itemPermissions } from '../grants.js';
import { fittedIndexes } from '../indexes.js';
import { attributeKeys, isKey, quotedName } from '../keys.js';
import type { Read } from '../source.js';
import type { UnsupportedList } from '../unsupported-list.js';
import { columnTime, constantDefault, InvalidText, isTimeColumn, losesDigits, mappedColumn } from './columns.js';
import type { Column, SourceTable, SupabaseData } from './data.js';
import { policyAccess } from './policies.js';

/** A table that is imported as a collection. */
interface Imported {
  readonly id: string;
  readonly table: SourceTable;
  readonly schema: FileCollection;
  documentOf(row: ForeignRow, part: 'values' | 'relationships'): Read<ImportedDocument>;
}

interface ForeignKey {
  readonly columns: readonly string[];
  readonly target: string;
  readonly targetColumns: readonly string[];
  readonly onDelete: 'cascade' | 'setNull' | 'restrict';
}

const foreignKey = /^FOREIGN KEY \((.+?)\) REFERENCES (.+?)\((.+?)\)(.*)$/s;
const listed = (names: string) =>
  names.split(/,\s*/).map((name) => name.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'));

function foreignKeys({ constraints }: SourceTable): ForeignKey[] {
  return constraints.flatMap((text): ForeignKey[] => {
    const [, columns = '', target = '', targetColumns = '', rest = ''] = foreignKey.exec(text) ?? [];
    if (target === '') return [];
    const onDelete = /ON DELETE CASCADE/.test(rest)
      ? 'cascade'
      : /ON DELETE SET NULL/.test(rest)
        ? 'setNull'
        : 'restrict';
    return [
      { columns: listed(columns), target: target.replaceAll('"', ''), targetColumns: listed(targetColumns), onDelete },
    ];
  });
}

function keyColumns({ constraints }: SourceTable): string[] {
  const found = constraints.map((text) => /^PRIMARY KEY \((.+?)\)/.exec(text)?.[1]).find((text) => text !== undefined);
  return found === undefined ? [] : listed(found);
}

/**
 * Id of a row: the texts of its primary key, joined. A digest replaces an id that is invalid, and one that other texts could have too because
 * they contain the separator.
 */
function idOf(texts: readonly string[]): string {
  const joined = texts.join('_');
  const isClear = texts.length === 1 || !texts.some((text) => text.includes('_'));
  if (isClear && isKey(joined)) return joined;
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 32);
}

/** Maps tables of a schema to collections. Adds parts without a counterpart to the list. */
export function importedTables(
  { tables: all, enums }: SupabaseData,
  schema: string,
  chosen: readonly SourceTable[],
  unsupported: UnsupportedList,
): Imported[] {
  const withKey = chosen.filter((table) => {
    if (keyColumns(table).length > 0) return true;
    unsupported.add('table', `${table.name}: it has no primary key, so its rows have no ids.`);
    return false;
  });
  const ids = attributeKeys(withKey.map(({ name }) => name));
  for (const { schema: of, name } of all)
    if (of === schema && !chosen.some((table) => table.name === name))
      unsupported.add('table', `${name}: it was not chosen.`);
  return withKey.map((table) =>
    importedTable(table, ids.get(table.name) ?? table.name, { schema, withKey, ids, enums, unsupported }),
  );
}

interface Context {
  readonly schema: string;
  readonly withKey: readonly SourceTable[];
  readonly ids: ReadonlyMap<string, string>;
  readonly enums: SupabaseData['enums'];
  readonly unsupported: UnsupportedList;
}

/** Parses the text of a column into the value of an attribute. */
interface Part {
  readonly column: Column;
  readonly key: string;
  readonly attribute: FileAttribute;
  readonly parse: (text: string) => unknown;
}

function importedTable(table: SourceTable, id: string, context: Context): Imported {
  const { unsupported } = context;
  const report: Report = (kind, text, count = 1) => unsupported.add(kind, `${table.name}: ${text}`, count);
  if (id !== table.name) report('name', `the collection is called ${id} here.`);
  for (const name of table.generated) report('column', `the generated column ${name} has no counterpart.`);
  const primary = keyColumns(table);
  const relations = relationsOf(table, context, report);
  const isId = (name: string) => primary.length === 1 && primary[0] === name;
  const digested = table.columns.find((column) => isId(column.name) && column.hasOtherThanIds)?.name;
  if (digested !== undefined)
    report(
      'id',
      `values of ${digested} cannot be ids. Their documents have a digest as $id, and the value in ${digested}.`,
    );
  const columns = table.columns.filter(
    (column) => !isTimeColumn(column) && (!isId(column.name) || relations.has(column.name) || column.name === digested),
  );
  const keys = attributeKeys(columns.map(({ name }) => name));
  const parts = columns.map((column) =>
    partOf(column, keys.get(column.name) ?? column.name, relations, context, report),
  );
  const attributes = parts.map(({ attribute }) => attribute);
  const access = policyAccess(table, unsupported);
  const named = new Map(parts.map(({ column, key }) => [column.name, key]));
  const systemKey = (name: string) => {
    if (isId(name) && name !== digested) return '$id';
    const column = table.columns.find((one) => one.name === name);
    if (column === undefined || !isTimeColumn(column)) return undefined;
    return name === 'created_at' ? '$createdAt' : '$updatedAt';
  };
  const indexes = fittedIndexes(
    [...uniqueStatements(table), ...table.indexes],
    attributes,
    (name) => named.get(name) ?? systemKey(name),
    (key) => parts.find((part) => part.key === key)?.column.longest ?? 0,
    (sql, reason) => report('index', `${reason} ${sql}`),
  );
  return {
    id,
    table,
    schema: {
      $id: id,
      name: table.name,
      documentSecurity: hasOwners(access),
      $permissions: containerPermissions(access),
      attributes,
      indexes,
    },
    documentOf: (row, part) =>
      documentOf(row, table, idOf(primary.map((name) => String(row[name]))), parts, access, (name) => {
        // Counted in one of the two passes.
        if (part === 'values') report('number', `numbers of ${name} have more digits than a float keeps.`);
      }),
  };
}

type Report = (kind: string, text: string, count?: number) => void;

/** The foreign keys that become relationships, by their column. Reports the others. */
function relationsOf(table: SourceTable, context: Context, report: Report): Map<string, ForeignKey> {
  const relations = new Map<string, ForeignKey>();
  for (const key of foreignKeys(table)) {
    const [column = ''] = key.columns;
    if (key.target === 'auth.users' && key.columns.length === 1) continue;
    const target = targetOf(key, context);
    if (key.columns.length === 1 && target !== undefined) relations.set(column, key);
    else
      report(
        'foreign key',
        `(${key.columns.join(', ')}) to ${key.target} has no counterpart. The values are imported.`,
      );
  }
  return relations;
}

/** The attribute of a column, or the relationship if it is a foreign key. */
function partOf(
  column: Column,
  key: string,
  relations: ReadonlyMap<string, ForeignKey>,
  context: Context,
  report: Report,
): Part {
  if (key !== column.name) report('name', `the column ${column.name} is called ${key} here.`);
  const relation = relations.get(column.name);
  if (relation === undefined) {
    const { attribute, parse } = mappedColumn(column, context.enums);
    return { column, key, parse, attribute: { key, ...attribute, ...defaultOf(column, attribute, parse, report) } };
  }
  const relatedCollection = targetOf(relation, context) ?? '';
  const ends = { relatedCollection, relationType: 'manyToOne', twoWay: false, onDelete: relation.onDelete };
  return { column, key, parse: (text) => idOf([text]), attribute: { key, type: 'relationship', ...ends } };
}

/** The default of an attribute. One that is no constant is reported. */
function defaultOf(
  column: Column,
  { size, required }: Omit<FileAttribute, 'key'>,
  parse: Part['parse'],
  report: Report,
): { default?: string | number | boolean } {
  const value = constantDefault(column, parse);
  const isLong = typeof value === 'string' && typeof size === 'number' && value.length > size;
  if (!required && !isLong && ['string', 'number', 'boolean'].includes(typeof value))
    return { default: value as string | number | boolean };
  if (value !== undefined)
    report('default', `the column ${column.name} has the default ${column.defaultText}. Clients give the value.`);
  return {};
}

function targetOf({ target, targetColumns }: ForeignKey, { schema, withKey, ids }: Context): string | undefined {
  const found = withKey.find(({ name }) => target === `${schema}.${name}`);
  const primary = found === undefined ? [] : keyColumns(found);
  return primary.length === 1 && targetColumns.length === 1 && primary[0] === targetColumns[0]
    ? ids.get(found?.name ?? '')
    : undefined;
}

/** Unique constraints as statements of the indexes that Postgres makes for them. */
function uniqueStatements({ constraints, name, schema }: SourceTable): string[] {
  return constraints.flatMap((text) => {
    const [, columns] = /^UNIQUE \((.+)\)$/.exec(text) ?? [];
    if (columns === undefined) return [];
    const key = `${name}_${listed(columns).join('_')}_key`;
    return [`CREATE UNIQUE INDEX ${quotedName(key)} ON ${schema}.${quotedName(name)} USING btree (${columns})`];
  });
}

function documentOf(
  row: ForeignRow,
  table: SourceTable,
  id: string,
  parts: readonly Part[],
  access: Access,
  onLoss: (column: string) => void,
): Read<ImportedDocument> {
  const data: Record<string, unknown> = {};
  for (const { column, key, parse } of parts) {
    const text = row[column.name];
    const value = typeof text === 'string' ? parse(text) : null;
    if (value instanceof InvalidText) return { id, problem: `The column ${column.name} ${value.reason}.` };
    if (typeof text === 'string' && losesDigits(column.type, text)) onLoss(column.name);
    data[key] = value;
  }
  const timeIn = (name: string) => {
    const column = table.columns.find((one) => one.name === name);
    return column !== undefined && isTimeColumn(column) ? columnTime(row[name]) : undefined;
  };
  return {
    id,
    permissions: itemPermissions(access, (member) => (typeof row[member] === 'string' ? [String(row[member])] : [])),
    createdAt: timeIn('created_at'),
    updatedAt: timeIn('updated_at') ?? timeIn('created_at'),
    data,
  };
}
