// The commands of docs/files.md, in order, against a server that runs.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import sharp from 'sharp';
import { install } from '../harness/cli.js';
import { provideCurl } from '../harness/curl.js';
import { readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';

test('the commands work in the order of the page', async () => {
  const place = await install();
  after(() => place.dispose());
  provideCurl(join(place.dir, 'bin'));
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const picture = await sharp({ create: { width: 200, height: 100, channels: 3, background: '#204060' } })
    .png()
    .toBuffer();
  writeFileSync(join(place.dir, 'logo.png'), picture);
  const { url } = await place.serve();
  const blocks = readBlocks('docs/files.md').filter(({ language }) => language === 'sh');
  assert.equal(blocks.length, 3);
  const text = blocks.map((block) => block.text.replaceAll('http://localhost:8080/v1', url)).join('\n');
  const { code, out, err } = await place.shell(`set -e\n${text}`);
  assert.deepEqual([code, err.replace(/^next: .*\n/gm, '')], [0, ''], out);
  assert.ok(!out.includes('"code":'), out);
  assert.ok(readFileSync(join(place.dir, 'copy.png')).equals(picture));
  const { format, width } = await sharp(readFileSync(join(place.dir, 'small.webp'))).metadata();
  assert.deepEqual([format, width], ['webp', 64]);
  const secret = /"secret":"([^"]+)"/.exec(out)?.[1];
  const view = await fetch(`${url}/storage/buckets/photos/files/logo/view?project=shop&token=${secret}`);
  assert.equal(view.status, 200);
});
