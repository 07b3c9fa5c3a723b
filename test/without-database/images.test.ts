// Conversion of images: what is asked for, and what hostile images cost.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { operatorReading } from '#src/contract/reading.js';
import { createDiskCache } from '#src/platform/cache/disk-cache.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { isGone } from '#src/platform/db/list-slots.js';
import { createImages, ImageRefused, type ImageRequest } from '#src/platform/images/index.js';
import { after } from '../harness/runner.js';

const images = createImages(2);
const plain: ImageRequest = {
  width: 0,
  height: 0,
  gravity: 'center',
  quality: null,
  borderWidth: 0,
  borderColor: '000000',
  borderRadius: 0,
  opacity: 1,
  rotation: 0,
  background: null,
  format: null,
};
async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
const convert = (bytes: Buffer, request: Partial<ImageRequest> = {}) =>
  images.convert(operatorReading, async () => pieces(bytes), { ...plain, ...request });

/** A quarter each of red, green, blue and white, clockwise from the top left. */
async function quarters(width: number, height: number): Promise<Buffer> {
  const colours = [
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 255],
    [0, 0, 255],
  ];
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      pixels.set(colours[(y < height / 2 ? 0 : 2) + (x < width / 2 ? 0 : 1)] ?? [], (y * width + x) * 3);
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}
/** The sides of an image, its format, and the pixel at a place as RGBA. */
async function look(bytes: Buffer) {
  const { format, width, height } = await sharp(bytes).metadata();
  const { data } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const pixel = (x: number, y: number) => [...data.subarray(4 * (y * width + x), 4 * (y * width + x) + 4)];
  return { format, width, height, pixel };
}

test('an image is scaled, cropped, framed, rounded, faded, turned and converted', async () => {
  const source = await quarters(400, 200);
  const sides: [Partial<ImageRequest>, number, number][] = [
    [{}, 400, 200],
    [{ width: 100 }, 100, 50],
    [{ height: 100 }, 200, 100],
    [{ width: 100, height: 100 }, 100, 100],
    [{ width: 800 }, 800, 400],
    [{ borderWidth: 10 }, 420, 220],
    [{ rotation: 90 }, 200, 400],
    [{ rotation: -360 }, 400, 200],
  ];
  for (const [request, width, height] of sides) {
    const { bytes, format } = await convert(source, request);
    const shown = await look(bytes);
    assert.deepEqual([shown.width, shown.height, format], [width, height, 'png'], JSON.stringify(request));
  }
  const corner = async (gravity: ImageRequest['gravity']) =>
    (await look((await convert(source, { width: 50, height: 200, gravity })).bytes)).pixel(10, 10);
  assert.deepEqual(await corner('top-left'), [255, 0, 0, 255]);
  assert.deepEqual(await corner('right'), [0, 255, 0, 255]);
  assert.equal((await corner('auto')).length, 4);

  const framed = await look((await convert(source, { borderWidth: 5, borderColor: '0a0b0c' })).bytes);
  assert.deepEqual(framed.pixel(0, 0), [10, 11, 12, 255]);
  assert.deepEqual(framed.pixel(10, 10), [255, 0, 0, 255]);
  const round = await look((await convert(source, { borderRadius: 50 })).bytes);
  assert.deepEqual([round.pixel(0, 0)[3], round.pixel(399, 199)[3], round.pixel(200, 100)[3]], [0, 0, 255]);
  const whole = await look((await convert(source, { borderRadius: 4000 })).bytes);
  assert.deepEqual([whole.pixel(20, 20)[3], whole.pixel(200, 0)[3]], [0, 255]);
  const faded = await look((await convert(source, { opacity: 0.5 })).bytes);
  assert.ok(Math.abs((faded.pixel(10, 10)[3] ?? 0) - 128) <= 1);
  const turned = await look((await convert(source, { rotation: 45, background: '102030' })).bytes);
  assert.deepEqual(turned.pixel(0, 0), [16, 32, 48, 255]);
  for (const format of ['jpeg', 'png', 'webp', 'avif', 'gif'] as const) {
    const made = await convert(source, { format, quality: 50, width: 64, opacity: 0.5 });
    assert.equal((await look(made.bytes)).format, format === 'avif' ? 'heif' : format);
  }
});

test('metadata goes, and an image is shown upright', async () => {
  const base = sharp(await quarters(40, 20)).jpeg();
  const source = await base
    .withExif({ IFD0: { Copyright: 'somebody' } })
    .withMetadata({ orientation: 6 })
    .toBuffer();
  const { bytes, format } = await convert(source);
  const { width, height, exif, orientation } = await sharp(bytes).metadata();
  assert.deepEqual(
    { format, width, height, exif, orientation },
    { format: 'jpeg', width: 20, height: 40, exif: undefined, orientation: undefined },
  );
});

function png(width: number, height: number, rows: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const data = deflateSync(Buffer.alloc((width + 1) * rows));
  const magic = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([magic, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function gif(side: number, frames: number): Buffer {
  const size = Buffer.from([side & 255, side >> 8, side & 255, side >> 8]);
  const head = Buffer.concat([Buffer.from('GIF89a'), size, Buffer.from([0x80, 0, 0, 0, 0, 0, 255, 255, 255])]);
  const frame = Buffer.concat([Buffer.from('2c00000000', 'hex'), size, Buffer.from('0002024c0100', 'hex')]);
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from([0x3b])]);
}

test('invalid, too large or truncated images are refused before they cost memory', async () => {
  const photo = await sharp(await quarters(1000, 1000))
    .jpeg()
    .toBuffer();
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
  );
  const tiff = await sharp(photo).tiff().toBuffer();
  const refused: [string, Buffer, ImageRefused['reason']][] = [
    ['a bomb of 900 million pixels', png(30_000, 30_000, 10), 'too-large'],
    ['a side that no image has', png(4_000_000_000, 1, 0), 'unsupported'],
    ['a GIF of 20 000 pixels a side', gif(20_000, 1), 'too-large'],
    ['nothing', Buffer.alloc(0), 'unsupported'],
    ['text', Buffer.from('hello'), 'unsupported'],
    ['SVG', svg, 'unsupported'],
    ['SVG behind a line break', Buffer.concat([Buffer.from('\n<?xml version="1.0"?>'), svg]), 'unsupported'],
    ['TIFF', tiff, 'unsupported'],
    ['PDF', Buffer.from('%PDF-1.4\n1 0 obj<<>>endobj'), 'unsupported'],
    ['a photo cut in half', photo.subarray(0, photo.length / 2), 'unsupported'],
    ['more bytes than are read', Buffer.alloc(33 * 1024 * 1024, photo), 'too-large'],
  ];
  const before = process.memoryUsage().rss;
  const outcomes: (readonly [string, string])[] = [];
  for (const [name, bytes] of refused) {
    const outcome = await convert(bytes, { width: 100 }).then(
      () => 'converted',
      (error) => (error instanceof ImageRefused ? error.reason : String(error)),
    );
    outcomes.push([name, outcome]);
  }
  assert.deepEqual(
    outcomes,
    refused.map(([name, , reason]) => [name, reason]),
  );
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 150e6, `${Math.round(grown / 1e6)} MB`);
});

test('only the first frame is decoded, and bytes after an image are ignored', async () => {
  const animated = gif(100, 10_000);
  const started = performance.now();
  const { bytes } = await convert(animated, { width: 50 });
  assert.equal((await sharp(bytes).metadata()).pages ?? 1, 1);
  assert.ok(performance.now() - started < 5000);
  const polyglot = Buffer.concat([await quarters(10, 10), Buffer.from('<script>alert(1)</script>')]);
  assert.ok(!(await convert(polyglot)).bytes.includes('script'));
});

test('the largest images that are decoded take a bounded memory', async (t) => {
  const large = sharp({ create: { width: 7200, height: 7200, channels: 3, background: 'red' } });
  const avif = sharp({ create: { width: 4000, height: 3000, channels: 3, background: 'red' } });
  const sources = [
    await large.clone().jpeg({ progressive: true }).toBuffer(),
    await large.clone().png({ progressive: true, compressionLevel: 1 }).toBuffer(),
    await avif.avif({ effort: 0 }).toBuffer(),
  ];
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  await Promise.all(
    sources.map((source) => convert(source, { width: 1500, height: 1500, rotation: 45, borderRadius: 9 })),
  );
  clearInterval(timer);
  t.diagnostic(`${Math.round((most - before) / 1e6)} MB`);
  assert.ok(most - before < 700e6);
});

test('accounts take turns, a caller who has gone loses the slot, and too many are refused', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const source = await quarters(10, 10);
  const order: string[] = [];
  const ask = (account: string, waiter = operatorReading.waiter) =>
    images.convert(
      { account, waiter },
      async () => {
        order.push(account);
        await gate;
        return pieces(source);
      },
      plain,
    );
  const first = Array.from({ length: 129 }, () => ask('one'));
  await assert.rejects(ask('one'), (error) => error instanceof DatabaseError && error.kind === 'unavailable');
  let leave = () => {};
  const leaving = ask('two', {
    isGone: false,
    onGone: (listener) => {
      leave = listener;
      return () => {};
    },
  });
  const others = [ask('three'), ask('four')];
  leave();
  await assert.rejects(leaving, isGone);
  assert.deepEqual(order, ['one']);
  release();
  await Promise.all([...first, ...others]);
  assert.deepEqual(order.slice(0, 5).sort(), ['four', 'one', 'one', 'one', 'three']);
  assert.equal(order.length, 131);
});

test('a cache on the disk keeps up to its limit, forgets a group, and counts its hits', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-cache-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const bounds = { bytes: 5000, entries: 100, largest: 3000 };
  const cache = createDiskCache(directory, bounds);
  await cache.set('a', 'one', Buffer.alloc(1000, 1));
  await cache.set('b', 'two', Buffer.alloc(1000, 2));
  await cache.set('b', 'large', Buffer.alloc(4000));
  assert.deepEqual([(await cache.get('a', 'one'))?.length, await cache.get('b', 'large')], [1000, undefined]);
  await cache.forget('a');
  assert.deepEqual([await cache.get('a', 'one'), readdirSync(directory)], [undefined, ['b']]);
  writeFileSync(join(directory, 'b', 'cut.incoming'), 'x');
  const other = createDiskCache(directory, bounds);
  for (let count = 0; count < 10; count++) await other.set('c', `${count}`, Buffer.alloc(1000, count));
  const kept = readdirSync(directory, { recursive: true }).filter((name) => String(name).includes('/'));
  assert.ok(kept.length <= 5 && kept.includes('c/9') && !kept.includes('b/two'), kept.join());
});
