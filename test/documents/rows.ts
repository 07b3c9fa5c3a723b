// Documents that are hard on a query language: nulls, cases, wildcards, 64 bits, equal keys.
import type { Random } from './random.js';

/** The attributes of the collection under query, as they are created. */
export const attributes = {
  title: { type: 'string', size: 64 },
  word: { type: 'string', size: 16 },
  count: { type: 'integer' },
  rank: { type: 'integer', min: -5, max: 5 },
  ratio: { type: 'float' },
  flag: { type: 'boolean' },
  at: { type: 'datetime' },
  mail: { type: 'email' },
  site: { type: 'url' },
  address: { type: 'ip' },
  kind: { type: 'enum', elements: ['Red', 'red', 'green', 'GREEN', 'blue_%', 'émeraude', 'ÉMERAUDE'] },
  tags: { type: 'string', size: 32, array: true },
  numbers: { type: 'integer', array: true },
  name: { type: 'varchar', size: 32 },
  body: { type: 'text' },
  story: { type: 'mediumtext' },
  scroll: { type: 'longtext' },
  big: { type: 'bigint' },
  lines: { type: 'text', array: true },
  ratios: { type: 'float', array: true },
  moments: { type: 'datetime', array: true },
  bits: { type: 'boolean', array: true },
} as const;
/** The key of one of them. */
export type Key = keyof typeof attributes;
/** The attributes that are texts of words, and have an index of them. */
export const searched = ['title', 'name', 'body', 'scroll'] as const;
/** The ids of the documents that `author` relates to. */
export const authors: readonly string[] = ['ann', 'Ann', 'bob', 'zoe'];

const words = [
  ...['Ada', 'ada', 'ADA', 'Émile', 'émile', 'E\u0301mile', 'e\u0301', 'straße', 'STRASSE', 'İstanbul', 'ıstanbul'],
  ...['Ωmega', 'ωmega', '😀 smile', '😁', '👩‍👩‍👧 three', '～tilde', 'ﬀ ligature', '\u{10FFFF}', '\uFFFD', '\uE000'],
  ...['100%', '50_50', 'wow!', '!important', 'back\\slash', 'a%b_c!d\\e', '%', '_', '!', '\\', '', ' ', "o'hara"],
  ...[
    '"quoted"',
    '\u2028line',
    'tab\there',
    'new\nline',
    '?',
    '$1',
    '日本',
    '日本語',
    '\u212A',
    'k',
    'K',
    'ſ',
    's',
    'S',
  ],
];
const wholes = [
  ...[0n, 1n, -1n, 2n ** 31n, -(2n ** 31n), 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n)],
  ...[-(2n ** 53n) - 1n, 2n ** 62n, 2n ** 63n - 1n, 2n ** 63n - 2n, -(2n ** 63n), -(2n ** 63n) + 1n, 1_000_000_007n],
];
const doubles = [
  ...[0, 1, -1, 0.1 + 0.2, 0.3, 1 / 3, 2 / 3, 1e300, -1e300, 5e-324, 1.7976931348623157e308, 2 ** 53, 2 ** 53 + 2],
  ...[123456789.12345679, 1e15, 1e16, 1e21, 1e22, 1e23, 0.1, 4.35, 2 ** 63, 2.2250738585072014e-308],
];
const instants = [
  ...['1969-12-31T23:59:59.999', '1582-10-15T00:00:00.000', '0000-01-01T00:00:00.000'],
  ...['1970-01-01T00:00:00.000', '1999-12-31T23:59:59.999', '2000-01-01T00:00:00.000', '2024-02-29T12:30:00.123'],
  ...['2024-02-29T12:30:00.124', '2038-01-19T03:14:08.000', '0001-01-01T00:00:00.000', '9999-12-31T23:59:59.999'],
];
const addresses = ['127.0.0.1', '10.0.0.1', '10.0.0.10', '255.255.255.255', '::1', '2001:db8::1', '2001:DB8::1'];
const sites = [
  'https://a.example',
  'http://a.example/',
  'https://A.example/x_y',
  'https://b.example/100%25',
  'http://é.example',
];

const doubleBits = new DataView(new ArrayBuffer(8));

/** A double of any size. */
function anyDouble(random: Random): number {
  doubleBits.setUint32(0, random.below(2 ** 32));
  doubleBits.setUint32(4, random.below(2 ** 32));
  const double = doubleBits.getFloat64(0);
  return Number.isFinite(double) ? double : 0;
}

/** A value for an attribute, or of an element where it is an array; never null. */
export function aValue(random: Random, key: Key): string | number | bigint | boolean {
  switch (key) {
    case 'title':
      return random.chance(0.5) ? random.pick(words) : `${random.pick(words)}${random.pick(words)}`;
    case 'name':
      return random.pick(words);
    case 'body':
    case 'story':
    case 'scroll':
      // Several words, some of them twice, so that searches find a part of the documents.
      return Array.from({ length: 1 + random.below(3) }, () => random.pick(words)).join(random.pick([' ', ', ', '_']));
    case 'ratios':
      return random.pick(doubles);
    case 'moments':
      return `${random.pick(instants)}+00:00`;
    case 'bits':
      return random.chance(0.5);
    case 'big':
      return random.pick(wholes);
    case 'lines':
      return random.pick(words);
    case 'word':
      return random.pick(words.slice(0, 4));
    case 'count':
      return random.pick(wholes) || BigInt(random.below(100));
    case 'rank':
      return BigInt(random.below(4) - 2);
    case 'ratio':
      return random.chance(0.6)
        ? random.pick(doubles)
        : random.chance(0.5)
          ? random.below(2 ** 32) / 997
          : anyDouble(random);
    case 'flag':
      return random.chance(0.5);
    case 'at':
      return `${random.pick(instants)}+00:00`;
    case 'mail':
      return `${random.pick(['ada', 'Ada', 'a_b', 'a+b', 'bob'])}@${random.pick(['mail', 'Mail'])}.example`;
    case 'site':
      return random.pick(sites);
    case 'address':
      return random.pick(addresses);
    case 'kind':
      return random.pick(attributes.kind.elements);
    case 'tags':
      return random.pick(words).slice(0, 32);
    case 'numbers':
      return random.pick(wholes);
  }
}

/** The members of a new document, some of them null or absent. */
export function aDocument(random: Random): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const key of Object.keys(attributes) as Key[]) {
    if (random.chance(0.1)) continue;
    const list = 'array' in attributes[key];
    if (random.chance(0.15)) document[key] = null;
    else
      document[key] = list ? Array.from({ length: random.below(5) }, () => aValue(random, key)) : aValue(random, key);
  }
  return document;
}
