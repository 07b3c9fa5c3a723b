// What an operator meets after `svc project delete`: the id is not given again, and what is left of its users can be erased.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';

let place: Installation;
before(async () => {
  place = await install();
});
after(() => place.dispose());

const deleted = async (id: string): Promise<void> => {
  await place.json(['project', 'create', 'Shop', '--id', id]);
  await place.json(['project', 'delete', id, '--confirm', id]);
};

test('the id of a deleted project is a conflict, and the id that is made from a name is the next free one', async () => {
  await deleted('shop');
  const { code, err } = await place.svc(['project', 'create', 'Shop', '--id', 'shop']);
  assert.equal(code, 5);
  assert.match(
    err,
    /A deleted project had this id, and ids are never given again\.\n.*next: choose another id; svc audit list --project shop /s,
  );
  const init = await place.svc(['init', '--yes', '--project', 'Shop', '--project-id', 'shop']);
  assert.equal(init.code, 5);
  assert.match(init.err, /svc audit list --project shop /);
  const { project } = await place.json<{ project: { $id: string } }>(['init', '--yes', '--project', 'Shop']);
  assert.equal(project.$id, 'shop-2');
  const made = await Promise.all([1, 2, 3].map(() => place.json<{ $id: string }>(['project', 'create', 'Shop'])));
  assert.deepEqual(made.map(({ $id }) => $id).sort(), ['shop-3', 'shop-4', 'shop-5']);
});
