// The backups that the pages describe: whatever the umask of the shell, what they write is for its owner only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';
import { after } from '../harness/runner.js';

const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
/** The text of each fenced block of a page, with or without a language. */
const blocksOf = (name: string) =>
  [...readFileSync(join(root, 'docs', name), 'utf8').matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(
    ([, text = '']) => text,
  );
const copies = pages
  .flatMap((name) => blocksOf(name).map((text) => ({ name, text })))
  .filter(({ text }) => /\.backup\b|\bpg_dump\b/.test(text));

test('each block that makes a backup sets the umask before it', () => {
  assert.ok(copies.length >= 2, String(copies.length));
  for (const { name, text } of copies) assert.match(text, /umask 077[\s\S]*?(?:\.backup\b|pg_dump\b)/, name);
});

test('the command for SQLite writes a file of mode 0600 under the umask of most shells', () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-backup-'));
  after(() => rmSync(place, { recursive: true, force: true }));
  const run = (text: string) => {
    const { status, stderr } = spawnSync('sh', ['-c', `umask 022\n${text}`], { cwd: place, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  };
  const text = copies.map((copy) => copy.text).join('');
  const commands = [...text.matchAll(/sh -c '(umask 077 && sqlite3 [^']*)'/g)].map(([, command = '']) => command);
  assert.ok(commands.length > 0);
  run(`sqlite3 svc.db 'create table t (a)'`);
  for (const [at, command] of commands.entries()) {
    const copy = join(place, `${at}.db`);
    run(command.replaceAll('/var/lib/svc/svc.db', join(place, 'svc.db')).replace(/\/backup\/[\w.-]+/, copy));
    assert.equal(statSync(copy).mode & 0o777, 0o600, command);
  }
});
