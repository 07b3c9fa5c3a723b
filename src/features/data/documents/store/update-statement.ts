import { attributeColumn } from '#src/platform/db/collection-ddl.js';
import { documentTable } from '#src/platform/db/collection-tables.js';
import { type ColumnKind, type DialectName, dialectWords } from '#src/platform/db/dialect-words.js';
import type { Value } from '#src/platform/db/query.js';
import { boundValue, type Fragment } from '#src/platform/list-query/index.js';
import { type Collection, columnKind } from '../../databases/index.js';
import type { StoredValues, Times } from '../model/document.js';
import { documentColumns } from '../model/row.js';
import { printValue, type Serializers } from '../model/serializer.js';
import type { Compute } from './computed.js';

/** Values that an update sets. Permissions stay as they are if undefined. */
export interface DocumentChange {
  readonly permissions: readonly string[] | undefined;
  readonly values: StoredValues;
  /** Values that the database computes. */
  readonly computed: ReadonlyMap<number, Compute>;
  readonly now: string;
  readonly times: Times;
  /** Writes even if nothing changes: a caller without read permission must not learn that it guessed a value. */
  readonly always: boolean;
  /** Longer documents are returned without their attributes. */
  readonly maxBytes: number;
}

/** Parts of statements on documents. */
interface Parts {
  readonly dialect: DialectName;
  readonly placeholder: (kind: ColumnKind) => string;
  readonly isCurrent: (collection: Collection) => Fragment;
  readonly serializerOf: Serializers;
}

/** A column that is set to a value. */
interface Assignment {
  readonly column: string;
  readonly sql: string;
  readonly value: Value;
}

/** Creates the statement that changes documents that meet a condition. */
export function createUpdateStatement({ dialect, placeholder, isCurrent, serializerOf }: Parts) {
  const { isDistinctFrom, typed } = dialectWords[dialect];
  const textPlaceholder = typed('text');
  /** Condition that a row differs in one of the columns, or in the time of its last change if one is given. */
  const differs = (changed: readonly Assignment[], updatedAt: string | undefined): Fragment => {
    const time = updatedAt === undefined ? [] : [{ column: 'updated_at', sql: textPlaceholder, value: updatedAt }];
    const all = [...changed, ...time];
    const unlikes = all.map(({ column, sql }) => `${column} ${isDistinctFrom} ${sql}`).join(' or ');
    return { sql: ` and (${unlikes || '1 = 0'})`, values: all.map(({ value }) => value) };
  };
  return (collection: Collection, named: Fragment, change: DocumentChange): Fragment => {
    const { createdAt, updatedAt = change.now } = change.times;
    const changed: Assignment[] = [
      ...(createdAt === undefined ? [] : [{ column: 'created_at', sql: textPlaceholder, value: createdAt }]),
      ...(change.permissions === undefined
        ? []
        : [{ column: 'permissions', sql: textPlaceholder, value: JSON.stringify(change.permissions) }]),
      ...[...change.values].map(([number, value]) => ({
        column: attributeColumn(number),
        sql: placeholder(kindOf(collection, number)),
        value: boundValue(value),
      })),
    ];
    const computed = computedValues(change, dialect);
    const serializer = serializerOf(collection);
    const printed = serializer.changed(printedChange(collection, change, computed));
    const sets = [
      `updated_at = ${textPlaceholder}`,
      // Rows of readers contain the creation time. They are written whenever permissions are set.
      ...(createdAt === undefined || change.permissions !== undefined ? [] : ['permissions = permissions']),
      `shape = ${textPlaceholder}`,
      `printed = ${printed.sql}`,
      ...changed.map(({ column, sql }) => `${column} = ${sql}`),
      ...computed.map(({ number, value }) => `${attributeColumn(number)} = ${value.sql}`),
    ];
    const fits = computed.map((one) => ` and ${one.fits.sql}`).join('');
    const compared = change.always ? { sql: '', values: [] } : differs(changed, change.times.updatedAt);
    const current = isCurrent(collection);
    const bytes = serializer.bytes(null);
    return {
      sql: `update ${documentTable(collection.number)} set ${sets.join(', ')} where ${named.sql} and ${current.sql}${compared.sql}${fits} returning ${documentColumns}, case when ${bytes.sql} <= ${placeholder('integer')} then printed end as data`,
      values: [
        updatedAt,
        serializer.schemaHash,
        ...printed.values,
        ...changed.map(({ value }) => value),
        ...computed.flatMap(({ value }) => value.values),
        ...named.values,
        ...current.values,
        ...compared.values,
        ...computed.flatMap((one) => one.fits.values),
        ...bytes.values,
        change.maxBytes,
      ],
    };
  };
}

/** Values of a change that the database computes, by attribute number. */
function computedValues(change: DocumentChange, dialect: DialectName) {
  return [...change.computed].map(([number, compute]) => ({ number, ...compute(dialect) }));
}

/** Returns the printed form of changed attributes. */
function printedChange(
  { attributes }: Collection,
  { values }: DocumentChange,
  computed: ReturnType<typeof computedValues>,
) {
  const changed = attributes.filter(({ number }) => values.has(number));
  return new Map<number, string | Fragment>([
    ...changed.map((one) => [one.number, printValue(one, values.get(one.number))] as const),
    ...computed.map(({ number, value }) => [number, value] as const),
  ]);
}

/** Returns how an attribute is stored, by its number. */
function kindOf(collection: Collection, number: number): ColumnKind {
  const attribute = collection.attributes.find((one) => one.number === number);
  return attribute === undefined ? 'text' : columnKind(attribute);
}
