import { Failure } from '#src/contract/errors.js';
import { schemaLimits } from '#src/contract/limits.js';
import { JsonTooLarge, readJson } from '#src/platform/text/json.js';
import type { Attribute } from '../../databases/index.js';

const methods: readonly string[] = [
  ...['increment', 'decrement', 'multiply', 'divide', 'modulo', 'power'],
  ...['arrayAppend', 'arrayPrepend', 'arrayInsert', 'arrayRemove', 'arrayUnique'],
  ...['arrayIntersect', 'arrayDiff', 'arrayFilter', 'stringConcat', 'stringReplace'],
  ...['toggle', 'dateAddDays', 'dateSubDays', 'dateSetNow'],
];

/** Allowance for members of an operator besides its values. */
const ownMembers = 16;

/** A change of an attribute that is computed from the value it has, such as `Operator.increment(1)` of the SDKs. */
export interface ValueOperator {
  readonly method: string;
  readonly values: readonly unknown[];
}

/** Context of an operator, besides the value. */
export interface Moment {
  /** Time of the unit of work, in the format of stored documents. */
  readonly now: string;
  /** Most characters of the new value. */
  readonly room: number;
}

/** Computes the new value of an attribute from its current one. */
export type Apply = (value: unknown, moment: Moment) => unknown;

/**
 * Parses a text that represents an operator: an object with only `method` and `values`, as the SDKs print it. Undefined for every other
 * value, which is stored as it is. Throws Failure `document_invalid_structure` if `values` has elements other than single values and lists
 * of them.
 */
export function readOperator(value: unknown): ValueOperator | undefined {
  if (typeof value !== 'string' || !/^\s*\{/.test(value) || !value.includes('"method"')) return undefined;
  try {
    const given = readJson(value, { keys: schemaLimits.arrayElements + ownMembers });
    if (!isOperator(given)) return undefined;
    if (given.values?.every(isFlat) === false) throw nested(given.method);
    return withValues(given);
  } catch (error) {
    if (error instanceof JsonTooLarge)
      throw new Failure('document_invalid_structure', {
        message: ({ document }) =>
          `Invalid ${document} structure: an operator has more values than an array can hold, or nests them too deeply.`,
      });
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Error for an operator that does not fit its attribute. */
export function misuse({ key }: Attribute, { method }: ValueOperator, reason: string): Failure {
  return new Failure('document_invalid_structure', {
    message: ({ document, attribute }) =>
      `Invalid ${document} structure: the operator ${method} of ${attribute} "${key}" ${reason}.`,
  });
}

function nested(method: string): Failure {
  return new Failure('document_invalid_structure', {
    message: ({ document }) =>
      `Invalid ${document} structure: the operator ${method} takes single values and lists of them.`,
  });
}

function isOperator(value: unknown): value is Pick<ValueOperator, 'method'> & Partial<ValueOperator> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { method, values = [], ...others } = value as Partial<ValueOperator>;
  return (
    typeof method === 'string' && methods.includes(method) && Array.isArray(values) && Object.keys(others).length === 0
  );
}

/** True for a single value, or a list of them, as `stringConcat` accepts. */
function isFlat(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isSingle) : isSingle(value);
}

function isSingle(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function withValues({ method, values = [] }: Partial<ValueOperator>): ValueOperator {
  return { method: method ?? '', values };
}
