// An upgrade without an outage: servers of an earlier commit go on over the migrated schema, and are replaced one after another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUnderTest } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { install } from '../harness/cli.js';
import { after } from '../harness/runner.js';
import { startBalanced } from './balanced.js';
import { lacks } from './world.js';

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** The commit to upgrade from: the one before the newest migration, unless another is named. */
function previousCommit(): string | undefined {
  try {
    const named = process.env.SVC_TEST_PREVIOUS;
    const newest = git('log', '-1', '--diff-filter=A', '--format=%H', '--', 'migrations');
    return git('rev-parse', '--verify', named ?? `${newest}^`);
  } catch {
    return undefined;
  }
}

const previous = previousCommit();
const skip =
  (databaseUnderTest === 'sqlite' && 'several servers need Postgres') ||
  lacks('haproxy', ['-v'], 'haproxy') ||
  (previous === undefined && 'no earlier commit in this checkout');

/** Builds the earlier commit with the packages of this checkout, and returns the folder of its `svc`. */
function buildPrevious(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-previous-'));
  const checkout = join(folder, 'checkout');
  git('worktree', 'add', '--detach', checkout, String(previous));
  after(() => {
    git('worktree', 'remove', '--force', checkout);
    rmSync(folder, { recursive: true, force: true });
  });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  execFileSync(process.execPath, ['esbuild.config.js'], { cwd: checkout, stdio: 'pipe' });
  return join(checkout, 'bin');
}

test('no request fails while two servers are upgraded', { skip }, async () => {
  const bin = buildPrevious();
  const place = await install({ init: false });
  after(() => place.dispose());
  const earlier = { PATH: [bin, place.env.PATH].join(delimiter) };
  const run = async (args: string[]) => {
    const { code, out, err } = await place.svc([...args, '--json'], { env: earlier, fresh: true });
    assert.equal(code, 0, err);
    return JSON.parse(out);
  };
  await run(['init', '--yes']);
  await run(['project', 'create', 'World', '--id', 'world']);
  const { secret } = await run(['apikey', 'create', '--project', 'world', '--name', 'k', '--scopes', 'all']);
  const headers = { 'X-Appwrite-Project': 'world', 'X-Appwrite-Key': secret };
  const balanced = await startBalanced(place, headers, earlier);
  const pending = await place.json<{ pending: string[] }>(['migrate', 'status']);
  assert.ok(pending.pending.length > 0);
  await place.json(['migrate', 'up', '--yes']);
  // Each server looks at the schema every few seconds.
  await sleep(15_000);
  assert.deepEqual(balanced.failed, []);
  for (const at of [0, 1] as const) await balanced.restart(at);
  await balanced.end();
  assert.deepEqual(balanced.failed, []);
  assert.ok(balanced.answered() > 500, `${balanced.answered()} requests`);
});
