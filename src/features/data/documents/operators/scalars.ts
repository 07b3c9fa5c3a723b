import { type Attribute, columnKind } from '../../databases/index.js';
import { type Apply, type Moment, misuse, type ValueOperator } from './operator.js';

const dayMs = 86_400_000;

/** Implements the operators of text; null counts as empty. */
export function textOperator(attribute: Attribute, operator: ValueOperator): Apply {
  const { method, values } = operator;
  if (columnKind(attribute) !== 'text' || attribute.type === 'datetime')
    throw misuse(attribute, operator, 'needs a text');
  const [first, second] = values;
  const count = method === 'stringConcat' ? 1 : 2;
  if (values.length !== count || !values.every((value) => typeof value === 'string'))
    throw misuse(attribute, operator, `takes ${count === 1 ? 'a text' : 'two texts'}`);
  const requireRoom = (length: number, { room }: Moment) => {
    if (length > room) throw misuse(attribute, operator, `would make a text of more than ${room} characters`);
  };
  const find = String(first);
  if (method === 'stringConcat')
    return (value, moment) => {
      const text = String(value ?? '');
      requireRoom(text.length + find.length, moment);
      return text + find;
    };
  if (find === '') throw misuse(attribute, operator, 'has no text to look for');
  const instead = String(second);
  return (value, moment) => {
    const parts = String(value ?? '').split(find);
    // Checked before the text is built, because a long replacement may occur many times.
    requireRoom(String(value ?? '').length + (parts.length - 1) * (instead.length - find.length), moment);
    return parts.join(instead);
  };
}

/** Inverts a boolean; null counts as false. */
export function toggleOperator(attribute: Attribute, operator: ValueOperator): Apply {
  if (columnKind(attribute) !== 'boolean') throw misuse(attribute, operator, 'needs a single true or false');
  if (operator.values.length > 0) throw misuse(attribute, operator, 'takes no value');
  return (value) => value !== true;
}

/** Implements the operators of times. Null stays null if days are added to it. */
export function dateOperator(attribute: Attribute, operator: ValueOperator): Apply {
  const { method, values } = operator;
  if (attribute.type !== 'datetime' || attribute.array) throw misuse(attribute, operator, 'needs a single datetime');
  if (method === 'dateSetNow') {
    if (values.length > 0) throw misuse(attribute, operator, 'takes no value');
    return (_, { now }) => now;
  }
  const [days] = values;
  if (values.length !== 1 || typeof days !== 'number' || !Number.isSafeInteger(days))
    throw misuse(attribute, operator, 'takes a whole number of days');
  const step = (method === 'dateAddDays' ? days : -days) * dayMs;
  return (value) => {
    if (value === null || value === undefined) return null;
    const instant = new Date(Date.parse(String(value)) + step);
    const text = Number.isNaN(instant.getTime()) ? '' : instant.toISOString();
    if (!/^\d{4}-/.test(text)) throw misuse(attribute, operator, 'leads out of the years 0000 to 9999');
    return text;
  };
}
