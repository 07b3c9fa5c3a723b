// Values that break what was not thought of.
import type { Random } from '../documents/random.js';
import { Verbatim } from './json-text.js';

const texts: readonly string[] = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'a\udc00b',
    '\u202e',
    '\u200b',
    '\ufeff',
    '\u0085',
    '\u2028',
    '\x1b[2J\x1b]0;x\x07',
  ],
  ...[
    '\r\nX-Injected: 1',
    '\t',
    '%00',
    '%',
    '%zz',
    '%ff',
    '%2e%2e%2f',
    '../..',
    '..',
    '.',
    '-',
    '_',
    '/',
    '\\',
    '?',
    '#',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '$id', '$permissions', 'null'],
  ...[
    "'",
    '"',
    "'; drop table users; --",
    "' or 1=1 --",
    '`',
    '$1',
    '?',
    ':a',
    '\\',
    '%',
    '_',
    '*',
    '$'.concat('{7*7}'),
    '{{7*7}}',
  ],
  ...['NaN', 'Infinity', '-Infinity', '-0', '0x10', '1e309', '9007199254740993', '9223372036854775808', '1_000'],
  ...['true', 'undefined', '[]', '{}', '[object Object]', 'unique()', 'current', 'any', 'İ', 'ß', 'ﬁ', 'é', 'e\u0301'],
  ...['\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u{10ffff}', '\ufffe', '\uffff', '一二三', 'مرحبا', '🇩🇪'],
  ...['0000-00-00T00:00:00.000Z', '9999-12-31T23:59:60Z', '2024-02-30', '+275760-09-13T00:00:00.001Z', '-000001-01-01'],
  ...['http://[::1', 'http://a:99999/', 'javascript:alert(1)', '//evil', 'http:\\\\127.0.0.1', 'ftp://127.0.0.1/'],
  ...[
    '::1',
    '127.0.0.1',
    '1.2.3',
    '0177.0.0.1',
    '::ffff:127.0.0.1',
    '999.1.1.1',
    'a@b',
    '"a b"@mail.example',
    '@',
    'a@',
  ],
];

const numbers: readonly unknown[] = [
  ...[0, -0, 1, -1, 0.5, -1e-7, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e21],
  ...[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE],
  ...[
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775808',
    '-9223372036854775809',
  ].map((text) => new Verbatim(text)),
  ...['123456789012345678901234567890', '1e400', '-1e400', '1E-400', '1.0', '-0.0', '1e2', '10000000000000000e-3'].map(
    (text) => new Verbatim(text),
  ),
];

/** Made anew for each use: what is done to a body changes them, and one that held itself would be printed without end. */
const others = (): readonly unknown[] => [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  { a: 1 },
  [1, 'a', null, true],
];

/** A text that few think of; rarely a very long one. */
export function hostileText(random: Random): string {
  if (random.chance(0.08))
    return random.pick(['a', 'é', '\u{1f600}', ' ', '\\', '"', '%']).repeat(random.pick(lengths));
  const text = random.pick(texts);
  return random.chance(0.2) ? `${random.pick(texts)}${text}` : text;
}

const lengths = [
  36, 37, 64, 65, 128, 129, 256, 257, 320, 321, 512, 513, 1024, 2048, 2049, 4096, 4097, 16_384, 65_536, 300_000,
];

/** A value of any kind that few think of. */
export function hostileValue(random: Random): unknown {
  const kind = random.below(10);
  if (kind < 4) return hostileText(random);
  if (kind < 7) return random.pick(numbers);
  if (kind < 9) return random.pick(others());
  return hostileStructure(random);
}

/** Deep, wide, or with names that objects have already. */
export function hostileStructure(random: Random): unknown {
  const kind = random.below(5);
  if (kind === 0) return nested(random.pick([3, 20, 60, 64, 65, 200, 3000]));
  if (kind === 1) return Array.from({ length: random.pick([100, 101, 1001, 5001, 11_000]) }, (_, at) => at);
  if (kind === 2)
    return Object.fromEntries(
      Array.from({ length: random.pick([101, 1000, 9999, 10_001]) }, (_, at) => [`k${at}`, at]),
    );
  if (kind === 3) return new Verbatim(`{"${random.pick(['__proto__', 'constructor', 'prototype'])}":{"isAdmin":true}}`);
  return new Verbatim(
    random.pick(['NaN', 'undefined', '01', '.5', "'a'", '{"a":1,}', '"\\ud800"', '"\\u0000"', '"\\x"']),
  );
}

function nested(levels: number): Verbatim {
  return new Verbatim(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

/** Texts that a whole number is given as. */
export const hostileNumber = (random: Random): unknown => random.pick(numbers);
