// The page at the root: what it shows before there is a project, with projects, and to the public.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAppliance } from '../harness/appliance.js';

const html = { Accept: 'text/html' };
type Target = Awaited<ReturnType<typeof startAppliance>>;
const shown = async ({ origin }: Target, headers: Readonly<Record<string, string>> = html) =>
  (await fetch(`${origin}/`, { headers })).text();

test('on localhost it lists the projects with their pages, and code with the id of one', async () => {
  const target = await startAppliance();
  const page = await shown(target);
  const base = 'http://localhost:8080/v1';
  for (const path of ['auth/sign-in', 'auth/account', 'docs', 'graphql'])
    assert.ok(page.includes(`href="${base}/${path}?project=main"`), path);
  assert.ok(page.includes(".setProject('main');"));
  assert.match(page, /svc mail open/);
  assert.doesNotMatch(page, /svc project create/);
  assert.deepEqual(JSON.parse(await shown(target, {})).hasProject, true);
});

test('elsewhere it names no project and tells how to switch the reference on', async () => {
  const target = await startAppliance({ settings: { SVC_BASE_URL: 'https://api.example.com/v1' } });
  const page = await shown(target);
  assert.doesNotMatch(page, /project=main|Project main/);
  assert.match(page, /svc project update PROJECT --set api\.reference=true/);
  assert.doesNotMatch(page, /svc mail open/);
});
