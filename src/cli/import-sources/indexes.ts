import { schemaLimits } from '#src/contract/limits.js';
import type { FileAttribute, FileIndex } from '../project-file/file.js';
import { nearestKey } from './keys.js';

/** A statement `CREATE INDEX`. */
interface ParsedIndex {
  readonly name: string;
  readonly unique: boolean;
  readonly columns: readonly { readonly name: string; readonly order: 'ASC' | 'DESC' }[];
}

const quotes = /^["`[](.*)["`\]]$/;
const statement =
  /^\s*CREATE\s+(?<unique>UNIQUE\s+)?INDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?(?<name>[^\s(]+)\s+ON\s+(?:ONLY\s+)?[^\s(]+\s*(?:USING\s+(?<method>\w+)\s*)?\((?<columns>.*)\)\s*(?<rest>[^)]*?)\s*;?\s*$/is;
const column =
  /^(?<name>"[^"]+"|`[^`]+`|\[[^\]]+\]|\w+)(?:\s+COLLATE\s+(?<collation>\S+))?(?:\s+(?<order>ASC|DESC))?(?:\s+NULLS\s+(?:FIRST|LAST))?$/i;

/** Parses an index of columns. Returns the reason if it has other parts. */
function parsedIndex(sql: string): ParsedIndex | string {
  if (/\)\s*(?:NULLS\s+\S+\s+\S+\s+)?WHERE\s/i.test(sql)) return 'Only a part of the records is indexed (WHERE).';
  const groups = statement.exec(sql)?.groups;
  if (groups === undefined || groups.rest !== '') return 'Its statement has parts that an index here cannot have.';
  const { method = 'btree', columns = '' } = groups;
  if (method.toLowerCase() !== 'btree') return `An index of type ${method} has no counterpart.`;
  const unique = groups.unique !== undefined;
  const parts: ParsedIndex['columns'][number][] = [];
  for (const text of columns.split(',')) {
    const found = column.exec(text.trim())?.groups;
    if (found === undefined) return 'It contains an expression.';
    if (unique && found.collation !== undefined && !/binary/i.test(found.collation))
      return `Values that differ in case only are equal in it (COLLATE ${found.collation}).`;
    parts.push({ name: plain(found.name ?? ''), order: found.order?.toUpperCase() === 'DESC' ? 'DESC' : 'ASC' });
  }
  return { name: plain(groups.name ?? ''), unique, columns: parts };
}

function plain(name: string): string {
  return quotes.exec(name)?.[1] ?? name;
}

/**
 * Fits indexes to attributes. `keyOf` returns the attribute or system field of a column, and `longest` the characters of its longest value.
 * Texts in an index get a smaller size if their values fit, because an index has room for few characters. `refuse` gets the indexes that
 * cannot be made.
 */
export function fittedIndexes(
  statements: readonly string[],
  attributes: FileAttribute[],
  keyOf: (column: string) => string | undefined,
  longest: (key: string) => number,
  refuse: (sql: string, reason: string) => void,
): FileIndex[] {
  const indexes: FileIndex[] = [];
  for (const sql of statements) {
    const parsed = parsedIndex(sql);
    if (typeof parsed === 'string') {
      refuse(sql, parsed);
      continue;
    }
    const keys = parsed.columns.map(({ name }) => keyOf(name));
    const known = keys.filter((key) => key !== undefined);
    const found = known.flatMap((key) => attributes.find((one) => one.key === key) ?? []);
    const related = found.some(({ type }) => type === 'relationship');
    if (known.length < keys.length) refuse(sql, 'It contains a column that is not imported as an attribute.');
    else if (related && !parsed.unique && keys.length === 1) continue;
    else if (related) refuse(sql, 'It contains a relationship, which has an index of its own.');
    else if (keys.length > schemaLimits.indexedAttributes || new Set(known).size < known.length)
      refuse(sql, 'It has too many columns.');
    else if (parsed.unique && found.some(({ array }) => array))
      refuse(sql, 'It contains a list, which cannot be unique.');
    else if (!fit(found, attributes, longest)) refuse(sql, 'Its texts are too long for an index.');
    else if (known.length === 1 && known[0] === '$id') continue;
    else
      indexes.push({
        key: nearestKey(parsed.name, 'index', (key) => indexes.some((one) => one.key === key)),
        type: parsed.unique ? 'unique' : 'key',
        attributes: known,
        orders: parsed.columns.map(({ order }) => order),
      });
  }
  return indexes;
}

/** Characters of a value that a type without a size can have. */
const fixed: Readonly<Record<string, number>> = { email: 320, url: 2048, ip: 39, enum: 0 };

function sizeOf({ type, size, array }: FileAttribute): number {
  return array ? 0 : type === 'string' ? Number(size) : (fixed[type] ?? 0);
}

/** Reduces the sizes of texts so that they fit into an index. Changes nothing and returns false if their values are too long. */
function fit(found: readonly FileAttribute[], attributes: FileAttribute[], longest: (key: string) => number): boolean {
  const total = (list: readonly FileAttribute[]) => list.reduce((sum, one) => sum + sizeOf(one), 0);
  if (total(found) <= schemaLimits.indexedCharacters) return true;
  const texts = found.filter(({ type, array }) => type === 'string' && !array);
  if (texts.length === 0) return false;
  const others = total(found.filter((one) => !texts.includes(one)));
  const each = Math.floor((schemaLimits.indexedCharacters - others) / texts.length);
  if (each < 1 || texts.some(({ key }) => longest(key) > each)) return false;
  for (const text of texts) {
    const at = attributes.indexOf(text);
    attributes[at] = { ...text, size: Math.min(Number(text.size), each) };
  }
  return true;
}
