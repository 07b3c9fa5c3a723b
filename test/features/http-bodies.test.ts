// Bodies: size, type, form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ErrorType } from '#src/contract/errors.js';
import { aLoggedInUser, aPerson, aServerKey, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';
import { exchangeBytes, openSocket, parseAnswer, received, requestText } from '../harness/socket.js';

const target = await startAppliance();
const guest = createClient(target);
const user = await aLoggedInUser(target);
const invalid = 'general_argument_invalid';
const tooLarge = 'general_body_too_large';
const unsupported = 'general_media_type_unsupported';
const nested = (levels: number, open: string, inner: string, close: string) =>
  `{"name":"x","extra":${open.repeat(levels - 1)}${inner}${close.repeat(levels - 1)}}`;
/** A body with so many members and list entries in all. */
const members = (count: number) => ({ prefs: { list: Array(count - 2).fill(1) } });

/** [name, body, what is answered: a status and a type, or 200] */
const bodies: [string, string | Buffer, 200 | [number, ErrorType]][] = [
  ['64 levels of objects', nested(64, '{"a":', '1', '}'), 200],
  ['65 levels of objects', nested(65, '{"a":', '1', '}'), [400, invalid]],
  ['64 levels of lists', nested(64, '[', '1', ']'), 200],
  ['65 levels of lists', nested(65, '[', '1', ']'), [400, invalid]],
  ['20 000 levels', nested(20_000, '[', '', ']'), [400, invalid]],
  ['a __proto__ member', '{"name":"x","__proto__":{"admin":true}}', [400, invalid]],
  ['a __proto__ member deep inside', '{"name":"x","a":[{"b":{"__proto__":1}}]}', [400, invalid]],
  ['an escaped __proto__ member', '{"name":"x","\\u005f_proto__":1}', [400, invalid]],
  ['a constructor member', '{"name":"x","constructor":{"prototype":{}}}', [400, invalid]],
  ['a prototype member', '{"name":"x","a":{"prototype":1}}', [400, invalid]],
  ['a value called __proto__', '{"name":"__proto__"}', 200],
  ['half a surrogate pair', '{"name":"\\ud800"}', [400, invalid]],
  ['half a surrogate pair in a key', '{"name":"x","\\udfff":1}', [400, invalid]],
  ['a whole surrogate pair', '{"name":"\\ud83e\\udd84"}', 200],
  ['a NUL character', '{"name":"a\\u0000b"}', [400, invalid]],
  ['a NUL character in a key', '{"name":"x","a\\u0000":1}', [400, invalid]],
  ['a NUL character as it stands', '{"name":"a\0b"}', [400, invalid]],
  ['a NUL character as it stands beside a long number', '{"name":"a\0b","n":12345678901234567890}', [400, invalid]],
  [
    'half a surrogate pair in bytes',
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    [400, invalid],
  ],
  [
    'bytes that are not UTF-8',
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    [400, invalid],
  ],
  [
    'an overlong encoding',
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    [400, invalid],
  ],
  ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le'), [400, invalid]],
  ['a comma too many', '{"name":"x",}', [400, invalid]],
  ['half of it', '{"name":', [400, invalid]],
  ['something behind it', '{"name":"x"} and more', [400, invalid]],
  ['a list', '[{"name":"x"}]', [400, invalid]],
  ['a text', '"name"', [400, invalid]],
  ['null', 'null', [400, invalid]],
  ['spaces only', '   ', [400, invalid]],
  ['a member twice', '{"name":"first","name":"x"}', 200],
  ['64 KiB and a bit', JSON.stringify({ name: 'x', pad: 'p'.repeat(65_536) }), [413, tooLarge]],
  ['almost 64 KiB', JSON.stringify({ name: 'x', pad: 'p'.repeat(65_000) }), 200],
];
for (const [name, body, outcome] of bodies) {
  test(`a body of ${name}: ${outcome}`, async () => {
    const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/name', body));
    if (outcome === 200) return void value.expect(200);
    value.refused(...outcome);
    assert.deepEqual(recorded, nothing);
    assert.ok(!('admin' in {}));
  });
}

test('10 000 members are accepted, one more is not', async () => {
  (await user.client.patch('/account/prefs', members(10_000))).expect(200);
  (await user.client.patch('/account/prefs', members(10_001))).refused(400, invalid);
});

const types: [string, Record<string, string>, number][] = [
  ['JSON', { 'Content-Type': 'application/json' }, 200],
  ['JSON with its charset', { 'Content-Type': 'application/json; charset=utf-8' }, 200],
  ['JSON in capitals', { 'Content-Type': 'APPLICATION/JSON;CHARSET="UTF-8"' }, 200],
  ['JSON in the other spelling of UTF-8', { 'Content-Type': 'application/json; charset=utf8' }, 200],
  ['JSON with an empty parameter', { 'Content-Type': 'application/json;' }, 200],
  ['JSON with parameters of others', { 'Content-Type': 'application/json; odata=verbose; charset=UTF-8; q="1"' }, 200],
  ['JSON in two charsets', { 'Content-Type': 'application/json; charset=utf-8; charset=utf-16' }, 415],
  ['JSON in no charset', { 'Content-Type': 'application/json; charset=' }, 415],
  ['JSON and more', { 'Content-Type': 'application/json, text/plain' }, 415],
  ['JSON that says it is not compressed', { 'Content-Encoding': 'identity' }, 200],
  ['JSON in Latin 1', { 'Content-Type': 'application/json; charset=iso-8859-1' }, 415],
  ['text', { 'Content-Type': 'text/plain' }, 415],
  ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415],
  ['a form in parts', { 'Content-Type': 'multipart/form-data; boundary=x' }, 415],
  ['a cousin of JSON', { 'Content-Type': 'application/ld+json' }, 415],
  ['XML', { 'Content-Type': 'application/xml' }, 415],
];
for (const [name, headers, status] of types) {
  test(`a body that calls itself ${name}: ${status}`, async () => {
    const answer = await user.client.patch('/account/name', { name: 'x' }, headers);
    if (status === 200) answer.expect(200);
    else answer.refused(415, unsupported);
  });
}

test('compressed bodies are refused, bombs among them', async () => {
  const body = gzipSync(JSON.stringify({ name: 'x'.repeat(10_000_000) }));
  for (const encoding of ['gzip', 'GZIP', 'deflate', 'br', 'gzip, identity'])
    (await user.client.patch('/account/name', body, { 'Content-Encoding': encoding })).refused(415, unsupported);
});

test('a body without a type is refused', async () => {
  const headers = [`X-Service-Project: main`, `X-Service-Session: ${user.secret}`, 'Content-Length: 12'];
  const text = requestText('PATCH', '/v1/account/name', headers, '{"name":"x"}');
  parseAnswer(await exchangeBytes(target, text)).refused(415, unsupported);
});

test('a body in chunks is counted while it comes', async () => {
  const headers = [`X-Service-Project: main`, `X-Service-Session: ${user.secret}`];
  const chunked = [...headers, 'Content-Type: application/json', 'Transfer-Encoding: chunked'];
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const small = requestText('PATCH', '/v1/account/name', chunked, `${chunk('{"name":')}${chunk('"x"}')}0\r\n\r\n`);
  parseAnswer(await exchangeBytes(target, small)).expect(200);
  const endless = requestText('PATCH', '/v1/account/name', chunked, chunk(' '.repeat(70_000)));
  const answer = parseAnswer(await exchangeBytes(target, endless)).refused(413, tooLarge);
  assert.equal(answer.headers.get('Connection'), 'close');
});

test('a length that is too large is refused before the body comes', async () => {
  const headers = [`X-Service-Project: main`, 'Content-Type: application/json', 'Content-Length: 9999999'];
  parseAnswer(await exchangeBytes(target, requestText('POST', '/v1/account', headers, '{'))).refused(413, tooLarge);
});

test('the largest body of other routes is a setting', async () => {
  const own = await target.startSibling({ settings: { SVC_BODY_MAX_BYTES: '2048' } });
  const key = (await aServerKey(own)).client;
  const body = (length: number) => ({ hostname: `h${length}.example.com`, pad: 'p'.repeat(length) });
  (await key.post('/project/platforms/web', body(1900))).expect(201);
  (await key.post('/project/platforms/web', body(2100))).refused(413, tooLarge);
  const large = (await aServerKey(target)).client;
  (await large.post('/project/platforms/web', body(65_000))).expect(201);
  (await large.post('/project/platforms/web', body(65_536))).refused(413, tooLarge);
  const schema = (length: number) => ({ databaseId: 'unique()', name: 'Db', pad: 'p'.repeat(length) });
  (await large.post('/databases', schema(900_000))).expect(201);
  (await large.post('/databases', schema(1_048_576))).refused(413, tooLarge);
});

test('a client that hangs up in the middle of its body leaves nothing behind', async () => {
  const body = JSON.stringify(signUpBody(aPerson()));
  const headers = [`X-Service-Project: main`, 'Content-Type: application/json', `Content-Length: ${body.length + 10}`];
  const { recorded } = await recordedBy(target, async () => {
    const socket = await openSocket(target);
    socket.end(requestText('POST', '/v1/account', headers, body));
    await received(socket);
    (await guest.get('//healthz')).expect(200);
  });
  assert.deepEqual(recorded, nothing);
});
