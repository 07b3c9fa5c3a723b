import { scanLimits } from '#src/contract/limits.js';
import type { Condition } from '#src/platform/list-query/index.js';
import type { DocumentQuery, Field } from '../query/parse.js';

/** An attribute by its number, which stays the same if its key changes, or a member of every document. */
export type ShapeField = number | Extract<Field, { kind: 'system' }>['name'];
/** A condition without its values: a method and a field, or several conditions. */
export type Term =
  | readonly [method: string, field: ShapeField]
  | readonly [method: 'and' | 'or', terms: readonly Term[]];

/** A list without values: the methods and fields of its conditions, and its orders. */
export interface Shape {
  /** Conditions that every document meets. */
  readonly where: readonly Term[];
  readonly orders: readonly (readonly [field: ShapeField, direction: 'asc' | 'desc'])[];
}

/** Returns the shape of a list. It ignores values, the order of conditions and repeated conditions, and truncates very long lists. */
export function shapeOf({ conditions, orders }: Pick<DocumentQuery, 'conditions' | 'orders'>): Shape {
  return {
    where: termsOf(conditions, { conditions: scanLimits.conditions }),
    orders: orders
      .slice(0, scanLimits.orders)
      .map(({ field, descending }) => [fieldOf(field), descending ? 'desc' : 'asc'] as const),
  };
}

/** True if a term consists of terms. */
export function isGroup(term: Term): term is Extract<Term, readonly ['and' | 'or', unknown]> {
  return Array.isArray(term[1]);
}

/** Returns the fields of terms, including those in groups. */
export function shapeFieldsOf(terms: readonly Term[]): readonly ShapeField[] {
  return terms.flatMap((term) => (isGroup(term) ? shapeFieldsOf(term[1]) : [term[1] as ShapeField]));
}

type Group = Extract<Condition<Field>, { readonly conditions: unknown }>;
type Related = Extract<Condition<Field>, { readonly kind: 'related' }>;
type Single = Exclude<Condition<Field>, Group | Related>;

/** Converts conditions that must all hold to terms: each once, in an order that does not depend on the request. */
function termsOf(conditions: readonly Condition<Field>[], left: { conditions: number }): readonly Term[] {
  const terms = new Map<string, Term>();
  for (const condition of conditions) {
    if (left.conditions <= 0) break;
    // The index belongs to another collection.
    if (condition.kind === 'related') continue;
    for (const term of 'conditions' in condition ? groupTerms(condition, left) : [termOf(condition, left)])
      terms.set(JSON.stringify(term), term);
  }
  return inOrder(terms);
}

function groupTerms({ kind, conditions }: Group, left: { conditions: number }): readonly Term[] {
  if (kind === 'all') return termsOf(conditions, left);
  left.conditions -= 1;
  const branches = new Map<string, Term>();
  for (const branch of conditions) {
    if (left.conditions <= 0) break;
    const terms = termsOf([branch], left);
    if (terms.length === 0) continue;
    const term: Term = terms.length === 1 && terms[0] !== undefined ? terms[0] : ['and', terms];
    branches.set(JSON.stringify(term), term);
  }
  return [['or', inOrder(branches)]];
}

function termOf(condition: Single, left: { conditions: number }): Term {
  left.conditions -= 1;
  return [methodOf(condition), fieldOf(condition.field)];
}

function inOrder(terms: ReadonlyMap<string, Term>): readonly Term[] {
  return [...terms].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, term]) => term);
}

function methodOf(condition: Single): string {
  switch (condition.kind) {
    case 'compare':
      return condition.method === 'equal' && condition.values.length > 1 ? 'in' : condition.method;
    case 'null':
      return condition.isNull ? 'isNull' : 'isNotNull';
    case 'match':
      return condition.method;
    case 'words':
      return 'search';
    case 'fulltext':
    case 'not':
      return condition.method;
    case 'element':
      return 'contains';
    case 'between':
      return condition.kind;
  }
}

function fieldOf(field: Field): ShapeField {
  return field.kind === 'attribute' ? field.attribute.number : field.name;
}
