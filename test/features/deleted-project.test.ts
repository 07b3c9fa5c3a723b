// Requests that meet the deletion of their project are answered as if they had come after it, and are no defects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aPerson, signUpBody } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { rowsOf } from '../harness/database.js';

const here = await startAppliance({ settings: { SVC_RATE_LIMIT: 'off' } });
/** Knows a project as it was half a second ago. */
const there = await here.startSibling();
const by = (projectId: string) => ({ projectId, actor: { kind: 'operator', id: 'cli' }, requestId: 'test' });

const create = ({ runtime, features }: typeof here.appliance, id: string) =>
  runtime.db.work(by(id), (unit) => features.projects.create(unit, { id, name: 'Shop' }));

test('a request that begins before the deletion of its project and writes after it is answered 404', async () => {
  await create(here.appliance, 'shop');
  const client = createClient(there, { project: 'shop' });
  const signUp = () => client.post('/account', signUpBody(aPerson()));
  (await signUp()).expect(201);
  await here.appliance.features.projects.remove(by('shop'), 'shop');
  const answer = await signUp();
  assert.deepEqual([answer.status, answer.body.type], [404, 'project_not_found']);
  assert.doesNotMatch(there.log(), /request\.failed/);
});

test('many requests beside the deletion of their project leave nothing of it', async () => {
  for (let round = 0; round < 3; round++) {
    const id = `shop-${round}`;
    await create(here.appliance, id);
    const clients = [here, there].map((target) => createClient(target, { project: id }));
    let isOver = false;
    const refusals = new Set<unknown>();
    const made = [0, 0];
    const workers = [0, 1, 2, 3].map(async (at) => {
      while (!isOver) {
        const answer = await clients[at % 2]?.post('/account', signUpBody(aPerson()));
        if (answer?.status === 201) made[at % 2] = (made[at % 2] ?? 0) + 1;
        else refusals.add(answer?.body.type);
      }
    });
    while (made.some((count) => count < 3)) await new Promise((resolve) => setTimeout(resolve, 5));
    await here.appliance.features.projects.remove(by(id), id);
    while (refusals.size === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    isOver = true;
    await Promise.all(workers);
    assert.deepEqual([...refusals], ['project_not_found']);
    assert.deepEqual(await rowsOf(here, 'users', id), []);
  }
  for (const target of [here, there]) assert.doesNotMatch(target.log(), /request\.failed|webhooks\.failed/);
});
