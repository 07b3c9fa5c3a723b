// Pictures that the service draws, through the unmodified node-appwrite and by the URL that stands in an <img>.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Avatars, Browser, Client, CreditCard, Flag } from 'node-appwrite';
import decodeQR from 'qr/decode.js';
import sharp from 'sharp';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
const guest = createClient(target);
const client = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
const avatars = new Avatars(client.setKey((await aServerKey(target, { scopes: ['avatars.read'] })).secret));

const described = async (bytes: ArrayBuffer) => {
  const { format, width, height } = await sharp(Buffer.from(bytes)).metadata();
  return [format, width, height];
};
/** How many colours a picture has, and the one in its corner. */
const coloursOf = async (bytes: ArrayBuffer) => {
  const pixels = await sharp(Buffer.from(bytes)).ensureAlpha().raw().toBuffer();
  const all = new Set<string>();
  for (let at = 0; at < pixels.length; at += 4) all.add(pixels.toString('hex', at, at + 4));
  return { count: all.size, corner: pixels.toString('hex', 0, 3) };
};
const image = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${target.origin}/v1/avatars/${path}${path.includes('?') ? '&' : '?'}project=${target.project.id}`, {
    headers,
  });

test('initials have letters on a ground that belongs to the name', async () => {
  const drawn = await avatars.getInitials({ name: 'Walter O’Brien' });
  assert.deepEqual(await described(drawn), ['png', 500, 500]);
  assert.ok((await coloursOf(drawn)).count > 10, 'letters with smooth edges');
  const other = await avatars.getInitials({ name: 'Ada', width: 64, height: 32, background: 'ffee00' });
  assert.deepEqual(await described(other), ['png', 64, 32]);
  assert.equal((await coloursOf(other)).corner, 'ffee00');
  for (const name of ['李小龍', '<b>&', '👍', '__', 'Ωμέγα Ж']) {
    assert.deepEqual(
      await described(await avatars.getInitials({ name, width: 50, height: 50 })),
      ['png', 50, 50],
      name,
    );
  }
  assert.deepEqual(
    Buffer.from(await avatars.getInitials({ name: 'Ada Lovelace' })),
    Buffer.from(await avatars.getInitials({ name: 'Ada Lovelace' })),
  );
});

test('initials without a name are those of the caller, and no cache keeps them for others', async () => {
  const { client: user } = await aLoggedInUser(target);
  const own = await user.get('/avatars/initials');
  assert.equal(own.expect(200).headers.get('cache-control'), 'private, no-cache');
  const named = await image('initials?name=Somebody%20Else');
  assert.match(named.headers.get('cache-control') ?? '', /^public, max-age=\d+$/);
});

test('there is a flag for each country of the SDK, in the usual proportions and square', async () => {
  for (const code of Object.values(Flag)) {
    const answer = await image(`flags/${code}?width=15&height=10`);
    assert.equal(answer.status, 200, code);
    assert.deepEqual(await described(await answer.arrayBuffer()), ['png', 15, 10]);
  }
  const square = await avatars.getFlag({ code: Flag.Japan });
  assert.deepEqual(await described(square), ['png', 100, 100]);
  assert.equal((await coloursOf(square)).corner, 'ffffff');
  assert.deepEqual(await described(await avatars.getFlag({ code: Flag.France, width: 60, height: 0 })), [
    'png',
    60,
    40,
  ]);
  (await guest.get('/avatars/flags/zz')).refused(400, 'general_argument_invalid');
  (await guest.get('/avatars/flags/..%2F..%2Fetc')).refused(400, 'general_argument_invalid');
});

test('browsers and cards of the SDK have marks', async () => {
  for (const code of Object.values(Browser))
    assert.deepEqual(await described(await avatars.getBrowser({ code, width: 48, height: 48 })), ['png', 48, 48], code);
  for (const code of Object.values(CreditCard))
    assert.deepEqual(await described(await avatars.getCreditCard({ code })), ['png', 100, 100], code);
  (await guest.get('/avatars/browsers/xx')).refused(400, 'general_argument_invalid');
});

test('a QR code has its size and margin, and can be saved', async () => {
  const text = 'https://example.com/?q=ä';
  const drawn = await avatars.getQR({ text, size: 290, margin: 4 });
  assert.deepEqual(await described(drawn), ['png', 290, 290]);
  assert.equal((await coloursOf(drawn)).corner, 'ffffff');
  const { data, info } = await sharp(Buffer.from(drawn)).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  assert.equal(decodeQR({ width: info.width, height: info.height, data }), text);
  assert.equal((await coloursOf(await avatars.getQR({ text, size: 100, margin: 0 }))).corner, '000000');
  const saved = await image('qr?text=x&download=true');
  assert.match(saved.headers.get('content-disposition') ?? '', /^attachment; filename="qr\.png"/);
  (await guest.get('/avatars/qr')).refused(400, 'general_argument_invalid');
  (await guest.get(`/avatars/qr?text=${'x'.repeat(513)}`)).refused(400, 'general_argument_invalid');
});

test('a picture in a page of another site is shown, kept, and honours output and quality', async () => {
  const shown = await image('initials?name=Ada&width=200&output=webp&quality=40', { 'Sec-Fetch-Site': 'cross-site' });
  assert.equal(shown.status, 200);
  assert.equal(shown.headers.get('content-type'), 'image/webp');
  assert.equal(shown.headers.get('cross-origin-resource-policy'), 'cross-origin');
  assert.match(shown.headers.get('content-security-policy') ?? '', /^sandbox; default-src 'none'/);
  const etag = shown.headers.get('etag') ?? '';
  const again = await image('initials?name=Ada&width=200&output=webp&quality=40', { 'If-None-Match': etag });
  assert.equal(again.status, 304);
  const sizes = [5, 95].map(async (quality) => {
    const answer = await image(`flags/br?width=600&height=400&output=jpg&quality=${quality}`);
    assert.equal(answer.headers.get('content-type'), 'image/jpeg');
    return (await answer.arrayBuffer()).byteLength;
  });
  const [small = 0, large = 0] = await Promise.all(sizes);
  assert.ok(small * 2 < large, `${small} ${large}`);
  (await guest.get('/avatars/initials?width=2001')).refused(400, 'general_argument_invalid');
});

test('pictures of other sites and screenshots are refused by name', async () => {
  for (const path of ['image', 'favicon', 'screenshots'])
    (await guest.get(`/avatars/${path}?url=https://example.com`)).refused(400, 'general_feature_unsupported');
});
