// What is done to a request around its content: method, media type, encoding, headers and credentials.
import type { Random } from '../documents/random.js';
import { printHostile } from './json-text.js';
import type { Plan, Workshop } from './plan.js';

const inHeader = [
  '',
  ' ',
  '0',
  '-1',
  'a'.repeat(200),
  'a'.repeat(5000),
  '\u00ff\u00fe',
  'null',
  '%00',
  '"',
  'a,b;c=d',
  '*',
  '../..',
];
const json = (plan: Plan): Buffer => Buffer.from(plan.body === undefined ? '' : printHostile(plan.body.value), 'utf8');
const header = (plan: Plan, name: string, value: string): void => void plan.headers.push([name, value]);

/** What is done to a request around its content, by name. */
export const transportSpoils: Readonly<Record<string, (plan: Plan, random: Random, workshop: Workshop) => void>> = {
  'another method': (plan, random) => {
    plan.method = random.pick(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']);
  },
  HEAD: (plan) => {
    if (plan.method === 'GET') plan.method = 'HEAD';
  },
  'another media type': (plan, random) =>
    header(
      plan,
      'Content-Type',
      random.pick([
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
        'application/json; charset=utf-16',
        'application/json; charset=latin1',
        'application/vnd.api+json',
        'application/jsonx',
        '',
        ';',
        'application/json, text/plain',
      ]),
    ),
  'a content encoding': (plan, random) =>
    header(plan, 'Content-Encoding', random.pick(['gzip', 'br', 'identity', 'deflate, gzip', 'x'])),
  'in chunks': (plan) => {
    plan.chunked = true;
  },
  'a broken body': (plan, random) => {
    const bytes = json(plan);
    const end = random.below(bytes.length + 1);
    const kinds = [
      bytes.subarray(0, end),
      Buffer.concat([bytes, bytes]),
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
    ];
    const more = [
      Buffer.from(bytes.toString('utf8'), 'utf16le'),
      Buffer.concat([bytes.subarray(0, end), Buffer.from([0xff, 0, 0xc0, 0x80])]),
      Buffer.from(' '),
      Buffer.from('null'),
      Buffer.from('[]'),
    ];
    plan.raw = random.pick([...kinds, ...more]);
  },
  'a large body': (plan, random) => {
    const size = random.pick([65_000, 66_000, 82_000, 1_000_000, 1_100_000, 4_300_000]);
    const bytes = json(plan);
    plan.raw = Buffer.concat([bytes, Buffer.alloc(Math.max(0, size - bytes.length), ' ')]);
  },
  'a body where none is taken': (plan, random) => {
    plan.raw = Buffer.from(random.pick(['{}', '[]', 'null', 'x', '{"a":1}']));
  },
  'a strange header': (plan, random) => {
    const names = [
      'X-Request-Id',
      'Accept-Language',
      'User-Agent',
      'Accept',
      'X-Forwarded-For',
      'Forwarded',
      'Origin',
      'Referer',
    ];
    const more = [
      'Cookie',
      'Range',
      'If-Match',
      'If-None-Match',
      'Idempotency-Key',
      'X-HTTP-Method-Override',
      'Sec-Fetch-Site',
      'X-Appwrite-Locale',
      'X-Service-Locale',
    ];
    header(plan, random.pick([...names, ...more]), random.pick(inHeader));
  },
  'a strange origin': (plan, random) =>
    header(
      plan,
      'Origin',
      random.pick([
        'null',
        'https://evil.example',
        'http://localhost',
        'file://',
        'http://localhost:99999',
        'HTTP://LOCALHOST',
        '',
      ]),
    ),
  'many headers': (plan, random) => {
    for (let count = random.pick([20, 60]); count > 0; count--) header(plan, `X-Many-${count}`, 'a');
  },
  'many cookies': (plan, random) =>
    header(
      plan,
      'Cookie',
      Array.from({ length: random.pick([50, 400]) }, (_, at) => `c${at}=${'v'.repeat(10)}`).join('; '),
    ),
  'a strange project': (plan, random) => {
    const text = random.pick(['', 'nothing', 'a'.repeat(37), '__proto__', 'NEIGHBOUR', '../main', '\u00ff', '%00']);
    header(plan, 'X-Service-Project', text);
  },
  'a wrong credential': (plan, random) => {
    const name = random.pick([
      'X-Service-Session',
      'X-Service-Key',
      'X-Service-JWT',
      'X-Appwrite-Session',
      'X-Appwrite-Key',
      'X-Appwrite-JWT',
    ]);
    header(
      plan,
      name,
      random.pick([
        '',
        'wrong',
        'a.b.c',
        'eyJhbGciOiJub25lIn0.e30.',
        'sk_a.b',
        '\u00ff',
        'a'.repeat(5000),
        'sk_'.repeat(100),
      ]),
    );
  },
};
