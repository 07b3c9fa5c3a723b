import type { Attribute, Collection } from '../../databases/index.js';
import { listOperator } from './lists.js';
import { numberOperator } from './numbers.js';
import { type Apply, type Moment, readOperator, type ValueOperator } from './operator.js';
import { dateOperator, textOperator, toggleOperator } from './scalars.js';

export type { Moment } from './operator.js';

type Data = Readonly<Record<string, unknown>>;

/** Operators of a change, by the keys of their attributes. */
export type Operators = ReadonlyMap<string, Apply>;

/** Finds the operators in the data of a change. Throws Failure `document_invalid_structure` if one does not fit its attribute. */
export function operatorsOf({ attributes }: Collection, data: Data): Operators {
  const operators = new Map<string, Apply>();
  for (const [key, value] of Object.entries(data)) {
    const operator = readOperator(value);
    const attribute = attributes.find((one) => one.key === key);
    if (operator !== undefined && attribute !== undefined) operators.set(key, applyOf(attribute, operator));
  }
  return operators;
}

/** Replaces the operators in the data of a change with their results for the values of a document. */
export function operated(data: Data, operators: Operators, document: Data, moment: Moment): Data {
  if (operators.size === 0) return data;
  const computed = [...operators].map(([key, apply]) => [key, apply(document[key], moment)] as const);
  return { ...data, ...Object.fromEntries(computed) };
}

/** Returns the data of a change without its operators. */
export function unoperated(data: Data, operators: Operators): Data {
  if (operators.size === 0) return data;
  return Object.fromEntries(Object.entries(data).filter(([key]) => !operators.has(key)));
}

/** Returns the values of a new document before its operators: the defaults. */
export function defaultsOf({ attributes }: Collection): Data {
  return Object.fromEntries(attributes.map(({ key, default: value }) => [key, value]));
}

function applyOf(attribute: Attribute, operator: ValueOperator): Apply {
  const { method, values } = operator;
  if (method === 'toggle') return toggleOperator(attribute, operator);
  if (method.startsWith('date')) return dateOperator(attribute, operator);
  if (method.startsWith('array')) return listOperator(attribute, operator);
  if (!method.startsWith('string')) return numberOperator(attribute, operator);
  // According to the SDKs, `stringConcat` also accepts arrays.
  return attribute.array && method === 'stringConcat'
    ? listOperator(attribute, { method: 'arrayAppend', values: values.flat() })
    : textOperator(attribute, operator);
}
