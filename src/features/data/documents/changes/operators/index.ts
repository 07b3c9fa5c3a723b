import type { Attribute, Collection } from '../../../databases/index.js';
import { listOperator } from './lists.js';
import { numberOperator } from './numbers.js';
import { type Apply, type Moment, type Operator, readOperator } from './operator.js';
import { dateOperator, textOperator, toggleOperator } from './scalars.js';

export type { Moment } from './operator.js';

type Data = Readonly<Record<string, unknown>>;

/** The operators of a change, by the keys of their attributes. */
export type Operators = ReadonlyMap<string, Apply>;

/** The operators in the data of a change. Throws Failure `document_invalid_structure` where one does not fit its attribute. */
export function operatorsOf({ attributes }: Collection, data: Data): Operators {
  const operators = new Map<string, Apply>();
  for (const [key, value] of Object.entries(data)) {
    const operator = readOperator(value);
    const attribute = attributes.find((one) => one.key === key);
    if (operator !== undefined && attribute !== undefined) operators.set(key, applyOf(attribute, operator));
  }
  return operators;
}

/** The data of a change with what its operators make of the values of a document in their place. */
export function operated(data: Data, operators: Operators, document: Data, moment: Moment): Data {
  if (operators.size === 0) return data;
  const computed = [...operators].map(([key, apply]) => [key, apply(document[key], moment)] as const);
  return { ...data, ...Object.fromEntries(computed) };
}

/** The data of a change without its operators. */
export function unoperated(data: Data, operators: Operators): Data {
  if (operators.size === 0) return data;
  return Object.fromEntries(Object.entries(data).filter(([key]) => !operators.has(key)));
}

/** What a new document has before its operators: the defaults. */
export function defaultsOf({ attributes }: Collection): Data {
  return Object.fromEntries(attributes.map(({ key, default: value }) => [key, value]));
}

function applyOf(attribute: Attribute, operator: Operator): Apply {
  const { method, values } = operator;
  if (method === 'toggle') return toggleOperator(attribute, operator);
  if (method.startsWith('date')) return dateOperator(attribute, operator);
  if (method.startsWith('array')) return listOperator(attribute, operator);
  if (!method.startsWith('string')) return numberOperator(attribute, operator);
  // The SDKs say of `stringConcat` that it takes arrays too.
  return attribute.array && method === 'stringConcat'
    ? listOperator(attribute, { method: 'arrayAppend', values: values.flat() })
    : textOperator(attribute, operator);
}
