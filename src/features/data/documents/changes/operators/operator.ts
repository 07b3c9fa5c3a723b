import { Failure } from '#src/contract/errors.js';
import { parseJson } from '#src/platform/json.js';
import type { Attribute } from '../../../databases/index.js';

const methods: readonly string[] = [
  ...['increment', 'decrement', 'multiply', 'divide', 'modulo', 'power'],
  ...['arrayAppend', 'arrayPrepend', 'arrayInsert', 'arrayRemove', 'arrayUnique'],
  ...['arrayIntersect', 'arrayDiff', 'arrayFilter', 'stringConcat', 'stringReplace'],
  ...['toggle', 'dateAddDays', 'dateSubDays', 'dateSetNow'],
];

/** A change of an attribute that is computed from the value it has, such as `Operator.increment(1)` of the SDKs. */
export interface Operator {
  readonly method: string;
  readonly values: readonly unknown[];
}

/** What an operator needs to know besides the value. */
export interface Moment {
  /** The time of the unit of work, as documents keep it. */
  readonly now: string;
  /** Characters that the new value may have. */
  readonly room: number;
}

/** Makes the new value of an attribute from the one it has. */
export type Apply = (value: unknown, moment: Moment) => unknown;

/**
 * The operator that a text stands for: an object of nothing but `method` and `values`, as the SDKs print it. Undefined for every other value,
 * which is then meant as it is. Throws Failure `document_invalid_structure` where its values are no single ones or lists of them.
 */
export function readOperator(value: unknown): Operator | undefined {
  if (typeof value !== 'string' || !/^\s*\{/.test(value) || !value.includes('"method"')) return undefined;
  try {
    // Only what is flat is read exactly: that takes a level of the stack for each level of the text.
    const given: unknown = JSON.parse(value);
    if (!isOperator(given)) return undefined;
    if (given.values?.every(isFlat) === false) throw nested(given.method);
    return withValues(parseJson(value) as Operator);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What an operator is refused with. */
export function misuse({ key }: Attribute, { method }: Operator, reason: string): Failure {
  return new Failure('document_invalid_structure', {
    message: `Invalid document structure: the operator ${method} of attribute "${key}" ${reason}.`,
  });
}

function nested(method: string): Failure {
  return new Failure('document_invalid_structure', {
    message: `Invalid document structure: the operator ${method} takes single values and lists of them.`,
  });
}

function isOperator(value: unknown): value is Pick<Operator, 'method'> & Partial<Operator> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { method, values = [], ...others } = value as Partial<Operator>;
  return (
    typeof method === 'string' && methods.includes(method) && Array.isArray(values) && Object.keys(others).length === 0
  );
}

/** A single value, or a list of them, as `stringConcat` takes. */
function isFlat(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isSingle) : isSingle(value);
}

function isSingle(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function withValues({ method, values = [] }: Partial<Operator>): Operator {
  return { method: method ?? '', values };
}
