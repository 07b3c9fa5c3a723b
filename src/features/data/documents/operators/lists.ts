import { schemaLimits } from '#src/contract/limits.js';
import { type Attribute, attributeTypes, InvalidValue } from '../../databases/index.js';
import { type Apply, misuse, type ValueOperator } from './operator.js';

type Element = string | number | bigint | boolean;
type Change = (list: readonly Element[]) => readonly unknown[];

/** Implements the operators of arrays; null counts as an empty one. */
export function listOperator(attribute: Attribute, operator: ValueOperator): Apply {
  if (!attribute.array) throw misuse(attribute, operator, 'needs an array');
  if (operator.values.length > schemaLimits.arrayElements)
    throw misuse(attribute, operator, `takes at most ${schemaLimits.arrayElements} values`);
  const change = changeOf(attribute, operator);
  return (list) => change((list ?? []) as readonly Element[]);
}

function changeOf(attribute: Attribute, operator: ValueOperator): Change {
  const { method, values } = operator;
  const { parse, comparable = (value) => parse(value, {}) } = attributeTypes[attribute.type];
  const valid = (stored: unknown): Element => {
    if (stored instanceof InvalidValue) throw misuse(attribute, operator, `takes a value that ${stored.reason}`);
    return stored as Element;
  };
  const added = (given: readonly unknown[]) => given.map((value) => valid(parse(value, attribute)));
  const compared = (given: readonly unknown[]) => given.map((value) => valid(comparable(value)));
  const counted = (least: number, most = least) => {
    if (values.length < least || values.length > most)
      throw misuse(attribute, operator, `takes ${least === most ? least : `${least} or ${most}`} values`);
  };
  switch (method) {
    case 'arrayAppend': {
      const more = added(values);
      return (list) => [...list, ...more];
    }
    case 'arrayPrepend': {
      const more = added(values);
      return (list) => [...more, ...list];
    }
    case 'arrayInsert': {
      counted(2);
      const at = values[0];
      if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0)
        throw misuse(attribute, operator, 'takes a position from 0');
      const more = added(values.slice(1));
      return (list) => {
        if (at > list.length) throw misuse(attribute, operator, 'has a position beyond the end of the array');
        return [...list.slice(0, at), ...more, ...list.slice(at)];
      };
    }
    case 'arrayUnique':
      counted(0);
      return (list) => [...new Map(list.map((element) => [String(element), element] as const)).values()];
    case 'arrayFilter':
      return filterOf(attribute, operator, (value) => compared([value])[0] as Element);
    default: {
      if (method === 'arrayRemove') counted(1);
      const named = new Set(compared(values).map(String));
      const keepsNamed = method === 'arrayIntersect';
      return (list) => list.filter((element) => named.has(String(element)) === keepsNamed);
    }
  }
}

/** Implements the conditions of `Condition` in the SDKs. Text compares as in queries. */
function filterOf(attribute: Attribute, operator: ValueOperator, comparable: (value: unknown) => Element): Change {
  const [condition, value = null, ...rest] = operator.values;
  if (condition === 'isNull') return () => [];
  if (condition === 'isNotNull') return (list) => list;
  if (value === null || rest.length > 0) throw misuse(attribute, operator, 'takes a condition and a value');
  const other = comparable(value);
  if (condition === 'contains') {
    if (typeof other !== 'string' || attribute.type === 'datetime')
      throw misuse(attribute, operator, 'looks for a part in text only');
    const part = lowerAscii(other);
    return (list) => list.filter((element) => lowerAscii(String(element)).includes(part));
  }
  const holds = conditions[String(condition)];
  if (holds === undefined || !Object.hasOwn(conditions, String(condition)))
    throw misuse(attribute, operator, `takes a condition: ${Object.keys(conditions).join(', ')}, contains`);
  return (list) => list.filter((element) => holds(compare(element, other)));
}

const conditions: Readonly<Record<string, (order: number) => boolean>> = {
  equal: (order) => order === 0,
  notEqual: (order) => order !== 0,
  greaterThan: (order) => order > 0,
  greaterThanEqual: (order) => order >= 0,
  lessThan: (order) => order < 0,
  lessThanEqual: (order) => order <= 0,
};

/** Compares text by code points, which gives the order of its bytes. */
function compare(one: Element, other: Element): number {
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : one > other ? 1 : 0;
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
