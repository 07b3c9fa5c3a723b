// What is asked at a terminal, and what the answers do.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { atTerminal } from '../harness/pty.js';

let place: Installation;
before(async () => {
  place = await install({ init: false });
});
after(() => place.dispose());

test('init asks for what neither flags nor the environment say, and checks the answers', async () => {
  const { SVC_PORT: _, ...env } = place.env;
  const asked = await atTerminal(
    { ...place, env },
    ['init', '--base-url', 'https://api.example.com/v1'],
    [
      ...(env.SVC_DATABASE_URL === undefined ? [['Database', '\r'] as const] : []),
      ['Port to listen on', 'abc\r'],
      ['must be a whole number', '\u007f\u007f\u007f8123\r'],
      ['who gets the secrets', 'everybody\r'],
      ['Invalid', `${'\u007f'.repeat('everybody'.length)}any\r`],
      ['Name of a first project', 'My app\r'],
    ],
  );
  assert.equal(asked.code, 0, asked.out);
  assert.match(asked.out, /project +[0-9a-f]{20} \(My app\)/);
  const written = readFileSync(`${place.dir}/svc.env`, 'utf8');
  assert.match(written, /^SVC_PORT=8123$/m);
  assert.match(written, /^SVC_TOKENS_IN_RESPONSE=any$/m);
  assert.match(written, /^SVC_BASE_URL=https:\/\/api\.example\.com\/v1$/m);
});

test('a password is asked for without echo', async () => {
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  const args = ['user', 'create', '--project', 'shop', '--email', 'ada@example.com'];
  const { code, out } = await atTerminal(place, args, [['Password', 'correct horse battery\r']]);
  assert.equal(code, 0, out);
  assert.doesNotMatch(out, /horse/);
});

test('a moderate question takes y, a severe one the name', async () => {
  const remove = ['user', 'delete', 'ada@example.com', '--project', 'shop'];
  assert.equal((await atTerminal(place, remove, [['(y/N)', 'n\r']])).code, 4);
  assert.equal((await atTerminal(place, remove, [['(y/N)', '\u0003']])).code, 130);
  assert.equal((await atTerminal(place, remove, [['(y/N)', 'y\r']])).code, 0);
  assert.equal((await atTerminal(place, [...remove, '--no-input'], [])).code, 3);
  const severe = ['project', 'delete', 'shop', '--yes'];
  assert.equal((await atTerminal(place, severe, [['Type shop to confirm', 'y\r']])).code, 4);
  assert.equal((await atTerminal(place, [...severe, '--no-input'], [])).code, 4);
  assert.equal((await atTerminal(place, severe, [['Type shop to confirm', 'shop\r']])).code, 0);
});
