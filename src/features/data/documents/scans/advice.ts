import { schemaLimits } from '#src/contract/limits.js';
import { type Attribute, type Collection, type Index, indexProblem } from '../../databases/index.js';
import { isGroup, type Shape, shapeFieldsOf, type Term } from './shape.js';

/** A column of an index that would serve a list. */
export interface IndexColumn {
  readonly key: string;
  readonly descending: boolean;
}

/** Advice for a slow list. */
export interface Advice {
  /** The columns of the missing index; null if no index would help. */
  readonly index: readonly IndexColumn[] | null;
  /** Sentences about parts of the list that no index serves. */
  readonly notes: readonly string[];
}

const equalities = ['equal', 'in', 'isNull'];
const ranges = ['lessThan', 'lessThanEqual', 'greaterThan', 'greaterThanEqual', 'between'];
/** Members that identify a document. */
const keys = ['$id', '$sequence'];

/** True if the collection still has every attribute of a shape. */
export function isCurrent({ where, orders }: Shape, collection: Collection): boolean {
  const numbers = new Set<unknown>(collection.attributes.map(({ number }) => number));
  const fields = [...shapeFieldsOf(where), ...orders.map(([field]) => field)];
  return fields.every((field) => typeof field === 'string' || numbers.has(field));
}

/** Returns what a list lacks in the current schema; undefined if it names removed attributes, or if an index serves it. */
export function currentAdvice(shape: Shape, collection: Collection): Advice | undefined {
  return isCurrent(shape, collection) ? adviceOf(shape, collection) : undefined;
}

/**
 * Returns what a list lacks; undefined if an index serves it. An index serves a list if it starts with the attributes compared for
 * equality, in any order, and continues with the orders or, without orders, with an attribute compared with a range. Orders by times and by
 * the sequence have built-in indexes.
 */
export function adviceOf({ where, orders }: Shape, collection: Collection): Advice | undefined {
  const access = accessOf(where, collection);
  if (access.isKeyed || isUnique(access.equal, collection)) return undefined;
  const wanted = columnsOf(access, orders, collection);
  if (wanted.columns.length > 0) {
    if (collection.indexes.some((index) => serves(index, wanted, collection))) return undefined;
    const index = wanted.columns.map(({ attribute, descending }) => ({ key: attribute.key, descending }));
    return { index, notes: [...tooLong(wanted.left), ...full(collection)] };
  }
  if (wanted.left.length > 0) return { index: null, notes: tooLong(wanted.left) };
  if (access.hasSystemRange) return undefined;
  if (access.groups.length === 0 && access.others.length === 0) return undefined;
  return adviceOfGroups(access, collection);
}

/** Conditions of a list, grouped by how an index serves them. */
interface Access {
  readonly equal: readonly Attribute[];
  readonly range: readonly Attribute[];
  /** The branches of each `or`. */
  readonly groups: readonly (readonly Term[])[];
  /** Methods that no index serves. */
  readonly others: readonly string[];
  readonly isKeyed: boolean;
  readonly hasSystemRange: boolean;
}

function accessOf(where: readonly Term[], collection: Collection): Access {
  const equal = new Set<Attribute>();
  const range = new Set<Attribute>();
  const groups: (readonly Term[])[] = [];
  const others = new Set<string>();
  let isKeyed = false;
  let hasSystemRange = false;
  for (const term of where) {
    if (isGroup(term)) {
      groups.push(term[1]);
      continue;
    }
    const [method, field] = term;
    // A search requires its own index.
    isKeyed ||= method === 'search';
    const isEqual = equalities.includes(method);
    const isOrdered = isEqual || ranges.includes(method);
    const attribute = collection.attributes.find(({ number }) => number === field);
    if (typeof field === 'string') {
      isKeyed ||= isEqual && keys.includes(field);
      hasSystemRange ||= isOrdered;
    }
    if (typeof field === 'string' ? !isOrdered : !isOrdered || attribute?.array) others.add(method);
    else if (attribute !== undefined) (isEqual ? equal : range).add(attribute);
  }
  return { equal: [...equal], range: [...range], groups, others: [...others], isKeyed, hasSystemRange };
}

/** Columns of an index, and attributes that do not fit into it. */
interface Wanted {
  /** Number of leading columns that may be in any order and direction. */
  readonly equal: number;
  readonly columns: readonly {
    readonly attribute: Attribute;
    readonly descending: boolean;
    readonly isRange: boolean;
  }[];
  readonly left: readonly Attribute[];
}

/** Returns the index that serves a list: equality attributes, then the orders or one range, as many as fit. */
function columnsOf(access: Access, orders: Shape['orders'], collection: Collection): Wanted {
  const columns: Wanted['columns'][number][] = [];
  const left: Attribute[] = [];
  const add = (attribute: Attribute, descending = false, isRange = false): boolean => {
    const taken = columns.map((column) => column.attribute);
    const fits = indexProblem([...taken, attribute], 'key') === undefined;
    if (fits) columns.push({ attribute, descending, isRange });
    else left.push(attribute);
    return fits;
  };
  for (const attribute of access.equal) add(attribute);
  const equal = columns.length;
  for (const [field, direction] of orders) {
    const attribute = collection.attributes.find(({ number }) => number === field);
    if (attribute === undefined) break;
    // An attribute with one value does not affect the order.
    if (!access.equal.includes(attribute) && !add(attribute, direction === 'desc')) break;
  }
  if (columns.length === equal)
    access.range.some((attribute) => !access.equal.includes(attribute) && add(attribute, false, true));
  return { equal, columns, left };
}

function serves(index: Index, { equal, columns }: Wanted, collection: Collection): boolean {
  if (index.type === 'fulltext') return false;
  const found = index.attributes
    .map((key, at) => ({ key, descending: index.orders[at] === 'DESC' }))
    // An index has no column for an array.
    .filter(({ key }) => !collection.attributes.find((one) => one.key === key)?.array);
  const first = new Set(columns.slice(0, equal).map(({ attribute }) => attribute.key));
  return (
    found.length >= columns.length &&
    found.slice(0, equal).every(({ key }) => first.has(key)) &&
    columns
      .slice(equal)
      .every(
        ({ attribute, descending, isRange }, at) =>
          found[equal + at]?.key === attribute.key && (isRange || found[equal + at]?.descending === descending),
      )
  );
}

/** True if a unique index limits the matches to one document, or to one for each value. */
function isUnique(equal: readonly Attribute[], { indexes }: Collection): boolean {
  const given = new Set(equal.map(({ key }) => key));
  return indexes.some(({ type, attributes }) => type === 'unique' && attributes.every((key) => given.has(key)));
}

/**
 * Returns advice for lists with `or`. Both databases read it by one index for each branch; one branch without an index makes them read
 * everything.
 */
function adviceOfGroups({ groups, others }: Access, collection: Collection): Advice | undefined {
  const notes = new Set(others.length === 0 ? [] : [`No index serves ${others.join(', ')}.`]);
  for (const branches of groups) {
    const each = branches.map((branch) =>
      adviceOf({ where: isGroup(branch) && branch[0] === 'and' ? branch[1] : [branch], orders: [] }, collection),
    );
    const lacking = each.filter((advice) => advice !== undefined);
    if (lacking.length === 0) return undefined;
    if (lacking.every(({ index }) => index !== null)) return lacking[0];
    for (const { index, notes: own } of lacking) if (index === null) for (const note of own) notes.add(note);
  }
  return { index: null, notes: [...notes] };
}

function tooLong(attributes: readonly Attribute[]): readonly string[] {
  return attributes.map(
    ({ key }) => `An index has no room for ${key}: compare fewer or shorter attributes, or search by a fulltext index.`,
  );
}

function full({ indexes }: Collection): readonly string[] {
  if (indexes.length < schemaLimits.indexes) return [];
  return [`The collection has ${indexes.length} indexes, which is the most; remove one first.`];
}
