// The commands of docs/audit.md, as they stand there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { readBlocks } from '../harness/readme.js';

const page = 'docs/audit.md';

test('every command of the page does what it says', async () => {
  const place = await install();
  after(() => place.dispose());
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const user = ['user', 'create', '--project', 'shop', '--email', 'ada@example.com', '--password-stdin'];
  await place.json(user, 'correct horse battery');
  const blocks = readBlocks(page).filter(({ language }) => language === 'sh');
  assert.equal(blocks.length, 3);
  for (const { text } of blocks) {
    const { code, out, err } = await place.shell(text);
    assert.equal(code, 0, `${text}: ${err}`);
    assert.match(out, /the audit log is intact|erased/);
  }
  const { head } = await place.json<{ head: string }>(['audit', 'verify']);
  const inline = [...readFileSync(join(root, page), 'utf8').matchAll(/`(svc audit [^`]+)`/g)].map(
    ([, line = '']) => line,
  );
  assert.ok(inline.length >= 4, String(inline.length));
  for (const line of inline) {
    const { code, err } = await place.shell(line.replace('HASH', head).replace(/tail$/, 'tail --no-follow'));
    assert.equal(code, 0, `${line}: ${err}`);
  }
});
