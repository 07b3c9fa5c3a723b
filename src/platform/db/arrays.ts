import type { Bound, Value } from './query.js';

/** Encoding of array elements for Postgres: the binary format of its `array_send`, which needs no parsing and rounds nothing. */
interface Elements {
  /** OID of the type. */
  readonly oid: number;
  readonly bytes: (value: string | number) => number;
  /** Writes a value at an offset and returns the offset after it. */
  readonly write: (target: Buffer, value: string | number, at: number) => number;
}

const elements = {
  text: {
    oid: 25,
    bytes: (value) => Buffer.byteLength(String(value)),
    write: (target, value, at) => at + target.write(String(value), at),
  },
  bigint: { oid: 20, bytes: () => 8, write: (target, value, at) => target.writeBigInt64BE(BigInt(value), at) },
  'double precision': {
    oid: 701,
    bytes: () => 8,
    write: (target, value, at) => target.writeDoubleBE(Number(value), at),
  },
  boolean: { oid: 16, bytes: () => 1, write: (target, value, at) => target.writeUInt8(Number(value), at) },
} satisfies Record<string, Elements>;

/** A column of the rows to write. */
interface ArrayColumn {
  readonly name: string;
  /** SQL type of the column. */
  readonly type: keyof typeof elements;
}

/**
 * Rows as a table called `given`, with one bound array per column. With JSON, Postgres would spend as much on parsing the rows as on
 * writing them.
 */
export function unnested(columns: readonly ArrayColumn[], place: (at: number) => string): string {
  const arrays = columns.map(({ type }, at) => `cast(${place(at)} as ${type}[])`);
  return `unnest(${arrays.join(', ')}) as given (${columns.map(({ name }) => name).join(', ')})`;
}

/** The arrays for `unnested`, one per column. */
export function toArrays(columns: readonly ArrayColumn[], rows: readonly (readonly Value[])[]): Bound[] {
  return columns.map(({ type }, column) => toArray(elements[type], rows, column));
}

const headBytes = 20;
const lengthBytes = 4;

function toArray({ oid, bytes, write }: Elements, rows: readonly (readonly Value[])[], column: number): Buffer {
  let size = headBytes + lengthBytes * rows.length;
  let hasNull = 0;
  for (const row of rows) {
    const value = row[column] ?? null;
    if (value === null) hasNull = 1;
    else size += bytes(value);
  }
  const array = Buffer.allocUnsafe(size);
  // Dimensions (one), null flag, type, length, and index of the first element.
  let at = 0;
  for (const word of [1, hasNull, oid, rows.length, 1]) at = array.writeInt32BE(word, at);
  for (const row of rows) {
    const value = row[column] ?? null;
    const end = value === null ? at + lengthBytes : write(array, value, at + lengthBytes);
    array.writeInt32BE(value === null ? -1 : end - at - lengthBytes, at);
    at = end;
  }
  return array;
}
