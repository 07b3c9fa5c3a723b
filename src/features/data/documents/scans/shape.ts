import { scanLimits } from '#src/contract/limits.js';
import type { Condition } from '#src/platform/list-query/index.js';
import type { DocumentQuery, Field } from '../query/parse.js';

/** An attribute by its number, which a new key does not change, or a member of every document. */
export type ShapeField = number | Extract<Field, { kind: 'system' }>['name'];
/** A condition without its values: a method and a field, or several conditions. */
export type Term =
  | readonly [method: string, field: ShapeField]
  | readonly [method: 'and' | 'or', terms: readonly Term[]];

/** A list without values: the methods and fields of its conditions, and its orders. */
export interface Shape {
  /** What every document fulfils. */
  readonly where: readonly Term[];
  readonly orders: readonly (readonly [field: ShapeField, direction: 'asc' | 'desc'])[];
}

/** The shape of a list. Lists that differ in values, in the order of conditions or in repeated ones have the same; of very long ones the end is left out. */
export function shapeOf({ conditions, orders }: Pick<DocumentQuery, 'conditions' | 'orders'>): Shape {
  return {
    where: termsOf(conditions, { conditions: scanLimits.conditions }),
    orders: orders
      .slice(0, scanLimits.orders)
      .map(({ field, descending }) => [fieldOf(field), descending ? 'desc' : 'asc'] as const),
  };
}

/** Whether a term consists of terms. */
export function isGroup(term: Term): term is Extract<Term, readonly ['and' | 'or', unknown]> {
  return Array.isArray(term[1]);
}

/** The fields of terms, those of groups too. */
export function fieldsOf(terms: readonly Term[]): readonly ShapeField[] {
  return terms.flatMap((term) => (isGroup(term) ? fieldsOf(term[1]) : [term[1] as ShapeField]));
}

type Group = Extract<Condition<Field>, { readonly conditions: unknown }>;
type Single = Exclude<Condition<Field>, Group>;

/** Conditions that all hold, as terms: each once, in an order that does not depend on the request. */
function termsOf(conditions: readonly Condition<Field>[], left: { conditions: number }): readonly Term[] {
  const terms = new Map<string, Term>();
  for (const condition of conditions) {
    if (left.conditions <= 0) break;
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
