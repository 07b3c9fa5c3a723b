import type { Sql, Value } from '#src/platform/db/query.js';
import type { Fragment } from '#src/platform/list-query/index.js';

/** Documents of a list that a caller may see: everything, or those that give read permission to one of the roles. */
export type Visibility = 'everything' | readonly string[];

/** Parameters of a call from which the values of its statement are made. */
export interface CallParameters {
  readonly visibility: Visibility;
  /** A role of the caller. By the last count, at least as many documents name it as the list counts. */
  readonly widest?: string | undefined;
  /** Maximum total bytes of the documents. */
  readonly maxBytes?: number;
  /** Values of the cursor's document in the columns of the order. */
  readonly cursor?: readonly Value[] | null;
  /** The state of a total that may still hold. */
  readonly known?: { readonly server: string; readonly snapshot: string } | undefined;
  /** Roles of the caller that no document named when they were counted; the known total leaves them out. */
  readonly absent?: readonly string[];
}

/** Stands for a value of one call in a statement, so that calls can share the statement. */
export class Slot {
  readonly of: (call: CallParameters, list: Sql['list']) => Value | undefined;
  constructor(of: Slot['of']) {
    this.of = of;
  }
}

/** A piece of a statement, with slots for the values of a call. */
export type SlottedFragment = Fragment<Value | Slot>;

/** The slots of statements, and those of a cursor, where a null is a part of the text. */
export const slots = {
  roles: new Slot(({ visibility }, list) => list(visibility === 'everything' ? [] : visibility)),
  firstRole: new Slot(({ visibility }) => visibility[0]),
  widest: new Slot(({ widest }) => widest),
  maxBytes: new Slot(({ maxBytes }) => maxBytes),
  server: new Slot(({ known }) => known?.server),
  snapshot: new Slot(({ known }) => known?.snapshot),
  absent: new Slot(({ absent = [] }, list) => list(absent)),
  cursor: (cursor: readonly Value[]) =>
    cursor.map((value, at) => (value === null ? null : new Slot((call) => call.cursor?.[at]))),
} as const;

/** Replaces slots with the values of a call. */
export function filled(values: readonly (Value | Slot)[], call: CallParameters, { list }: Pick<Sql, 'list'>): Value[] {
  return values.map((value) => (value instanceof Slot ? (value.of(call, list) ?? null) : value));
}
