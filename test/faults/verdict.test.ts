// The verdict finds what is planted: each kind of loss, change and invention, and nothing besides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, seed } from '../documents/random.js';
import { databaseUnderTest } from '../harness/appliance.js';
import { after } from '../harness/runner.js';
import type { Post } from './posts.js';
import { begin, gather, prepare, pronounce } from './rounds.js';
import { type Evidence, findFaults } from './verdict.js';

const course = await prepare(createRandom(seed));
const { place } = course.scene;
after(() => place.dispose());
const server = await begin(course);
const load = course.start(server);
await load.acknowledged(300);
load.stop();
await load.ended;
const innocent = await gather(course, server);
const table = `d_${(await place.sql('select number from collections'))[0]?.number}`;

test('a quiet run is without fault', (t) => t.diagnostic(pronounce(innocent)));

/** Documents that nobody has changed since, and whose event was posted once; each scenario takes another. */
const untouched = innocent.stored.events.filter(
  ({ id, type, data }) =>
    type === 'documentCreated' &&
    innocent.stored.documents.get(String(data.$id))?.number === data.number &&
    innocent.posts.filter(({ body }) => body.id === id).length === 1,
);
function aVictim() {
  const victim = untouched.pop();
  assert.ok(victim);
  return { id: victim.id, document: String(victim.data.$id) };
}
const onAudit = databaseUnderTest === 'postgres' ? ' on audit_entries' : '';
const { posts } = course.receiver;
const postOf = (id: string): Post => {
  const post = posts.find(({ body, status }) => body.id === id && status === 200);
  assert.ok(post);
  return post;
};

const plants: [name: string, plant: () => unknown, found: RegExp[]][] = [
  [
    'an acknowledged document is gone',
    () => place.sql(`delete from ${table} where id = '${aVictim().document}'`),
    [/a document is lost/],
  ],
  [
    'an acknowledged document is older than it was',
    () => place.sql(`update ${table} set a_1 = -1, shape = -1 where id = '${aVictim().document}'`),
    [/a document is not as it was answered/],
  ],
  [
    'an audit row is gone',
    async () => {
      await place.sql(`drop trigger audit_keep_rows${onAudit}`);
      await place.sql(`delete from audit_entries where resource like '%/${aVictim().document}'`);
    },
    [/acknowledged, with 0 audit rows/, /an event without audit row/],
  ],
  [
    'an event is gone',
    () => place.sql(`delete from events where id = '${aVictim().id}'`),
    [/acknowledged, with 0 events/, /an audit row without event/, /the event after number/, /delivered, and no event/],
  ],
  [
    'an event is invented',
    () =>
      place.sql(`insert into events (id, project_id, type, created_at, data, sequence, dispatched_at)
        select 'invented', project_id, type, created_at, replace(data, '"document-', '"invented-'),
          (select last + 1 from event_sequences), created_at from events where id = '${aVictim().id}'`),
    [/an event of nobody's request/, /an event without audit row/, /never delivered/],
  ],
  [
    'a session is gone',
    () => place.sql('delete from sessions where id = (select min(id) from sessions)'),
    [/a session is lost/],
  ],
  [
    'an event was never delivered',
    () => {
      posts.splice(posts.indexOf(postOf(aVictim().id)), 1);
    },
    [/never delivered/],
  ],
  [
    'a delivery is invented',
    () => posts.push({ at: Date.now(), status: 200, body: { ...posts[0]?.body, id: 'nobody' } }),
    [/nobody: delivered, and no event/],
  ],
  [
    'a delivery tells something else',
    () => {
      const post = postOf(aVictim().id);
      posts[posts.indexOf(post)] = { ...post, body: { ...post.body, data: { number: -1 } } };
    },
    [/delivered otherwise than committed/],
  ],
  [
    'a delivery is repeated though nothing was struck',
    () => posts.push({ ...postOf(aVictim().id), at: Date.now() }),
    [/delivered again without a reason/],
  ],
];
let before: Evidence = innocent;
for (const [name, plant, expected] of plants) {
  test(`${name}: ${expected.length} complaints`, async () => {
    const known = findFaults(before);
    await plant();
    before = { ...(await gather(course, server)), posts: [...posts] };
    const found = findFaults(before).filter((fault) => !known.includes(fault));
    assert.equal(found.length, expected.length, found.join('\n'));
    for (const pattern of expected)
      assert.equal(found.filter((fault) => pattern.test(fault)).length, 1, String(pattern));
  });
}
