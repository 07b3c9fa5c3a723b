// Values that fit a JSON Schema of the document, or lie just beside it.
import type { Random } from '../documents/random.js';
import { type Document, resolve, type Schema } from './described.js';
import { Verbatim } from './json-text.js';
import type { Ids, Pool } from './pool.js';
import { queryText, queryTexts } from './queries.js';

/** What values are made with. */
export interface Making {
  readonly document: Document;
  readonly random: Random;
  readonly pool: Pool;
  /** Where a call by the service may go. */
  readonly receiver: string;
  /** Parameters of the path of the request. */
  readonly ids: Ids;
  /** Members by which the answered list can be asked. */
  readonly fields: readonly string[];
}

let made = 0;
const wholeOf64Bits = new Verbatim('9007199254740993');
const words = ['hello', 'World', 'a b c', 'Ünïcödé', 'x', '100%', 'under_score', '2026-01-01', '日本語', '0'];

/** A value for a member or parameter of that name. */
export function fittingValue(making: Making, given: Schema, name: string): unknown {
  const { random, document } = making;
  const schema = resolve(document, given);
  const { anyOf, allOf, type } = schema;
  if ('const' in schema) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (anyOf !== undefined) return fittingValue(making, random.pick(anyOf), name);
  if (allOf !== undefined) return fittingValue(making, allOf[0] ?? {}, name);
  if (type === 'string') return textOf(making, schema, name);
  if (type === 'integer' || type === 'number') return numberOf(making, schema);
  if (type === 'boolean') return random.chance(0.5);
  if (type === 'null') return null;
  if (type === 'array') return listOf(making, schema, name);
  if (type === 'object') return objectOf(making, schema, name);
  return random.pick<unknown>([1, 'text', true, null, ['a'], { a: 1 }, 12.5, wholeOf64Bits]);
}

function objectOf(making: Making, { properties = {}, required = [] }: Schema, name: string): unknown {
  const { random } = making;
  if (name === 'data') return dataOf(making);
  const object: Record<string, unknown> = {};
  for (const [member, schema] of Object.entries(properties))
    if (required.includes(member) || random.chance(0.5)) object[member] = fittingValue(making, schema, member);
  if (Object.keys(properties).length === 0)
    for (let count = random.below(4); count > 0; count--) object[random.pick(words)] = fittingValue(making, {}, '');
  return object;
}

/** The attributes of a collection, where they are known. */
function dataOf({ pool, ids, random, ...making }: Making): unknown {
  const attributes = pool.attributesOf(ids);
  const chosen = attributes.filter(({ required }) => required === true || random.chance(0.6));
  const entries = chosen.map(({ key, array, ...attribute }) => {
    const { type, format, min, max, elements, size } = attribute;
    const schema = {
      type: type === 'double' ? 'number' : type === 'datetime' ? 'string' : type,
      ...(type === 'datetime' ? { format: 'date-time' } : typeof format === 'string' ? { format } : {}),
      ...(format === 'enum' ? { enum: elements as unknown[] } : {}),
      ...(typeof min === 'number' ? { minimum: min } : {}),
      ...(typeof max === 'number' ? { maximum: max } : {}),
      ...(typeof size === 'number' ? { maxLength: size } : {}),
    };
    const one = () => fittingValue({ pool, ids, random, ...making }, schema, 'value');
    return [key, array === true ? [one(), one()] : one()];
  });
  return Object.fromEntries(entries);
}

function listOf(making: Making, { items = {}, minItems = 0, maxItems }: Schema, name: string): unknown[] {
  const { random } = making;
  if (name === 'queries') return queryTexts(random, fieldsOf(making), making);
  const edge = typeof maxItems === 'number' && random.chance(0.04) ? maxItems + random.below(2) : undefined;
  const length = edge ?? Number(minItems) + random.below(3);
  return Array.from({ length: Math.min(length, 1200) }, () => fittingValue(making, items, name));
}

/** What a query can name: for documents the attributes of their collection too. */
function fieldsOf({ fields, pool, ids }: Making): readonly string[] {
  return [...fields, ...pool.attributesOf(ids).map(({ key }) => key)];
}

function numberOf({ random }: Making, { minimum, maximum, type }: Schema): number {
  const low = typeof minimum === 'number' ? minimum : -1000;
  const high = typeof maximum === 'number' ? maximum : 1000;
  if (random.chance(0.15)) return random.pick([low - 1, low, low + 1, high - 1, high, high + 1]);
  const number = low + random.below(Math.min(high - low, 2 ** 31) + 1);
  return type === 'number' && random.chance(0.5) ? number + 0.25 : number;
}

function textOf(making: Making, schema: Schema, name: string): string {
  const { random, pool } = making;
  const { format, pattern = '', minLength = 0, maxLength } = schema;
  made += 1;
  if (format === 'email') return random.chance(0.2) ? 'hostile-0@mail.example' : `hostile-${made}@mail.example`;
  if (format === 'date-time') return new Date(random.below(2 ** 31) * 1000).toISOString();
  if (format === 'ip') return random.pick(['10.0.0.1', '2001:db8::1', '255.255.255.255']);
  if (format === 'url' || name === 'url')
    return random.pick([`${making.receiver}/hook`, 'http://localhost:3000/page', `${making.receiver}/`]);
  if (name === 'hostname') return random.pick([`app${made}.example.com`, '*.example.org', 'localhost']);
  if (name === 'permissions') return permission(random, pool);
  if (name === 'events') return random.pick(['documentCreated', 'documentUpdated', 'sessionCreated', '*']);
  if (name === 'queries') return queryText(random, fieldsOf(making), making);
  if (String(pattern).startsWith('^\\+')) return `+1415555${String(1000 + random.below(9000))}`;
  if (/password/i.test(name)) return random.pick(['long enough 1', 'long enough 2', 'correct horse battery']);
  if (name.endsWith('Id') || name === 'key' || name === 'attributes')
    return (random.chance(0.5) ? pool.id(name === 'attributes' ? 'key' : name, random) : undefined) ?? `h${made}`;
  if (name === 'otp' || name === 'secret') return String(100_000 + random.below(900_000));
  const most = typeof maxLength === 'number' ? maxLength : 200;
  if (random.chance(0.04) && most <= 70_000) return 'm'.repeat(most + random.below(2));
  const text = random.pick(words).padEnd(Number(minLength), 'x').slice(0, most);
  return String(pattern).startsWith('^[A-Za-z0-9]') ? `h${made}` : text;
}

function permission(random: Random, pool: Pool): string {
  const user = pool.id('userId', random) ?? 'nobody';
  const team = pool.id('teamId', random) ?? 'no-team';
  const role = random.pick([
    'any',
    'guests',
    'users',
    'users/verified',
    `user:${user}`,
    `team:${team}`,
    `team:${team}/owner`,
    'label:a',
  ]);
  return `${random.pick(['read', 'create', 'update', 'delete', 'write'])}("${role}")`;
}
