// What an operator meets after `svc project delete`: the id is not given again, and what is left of its users can be erased.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

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

test('the entry of a project whose id is made for it stands under that id', async () => {
  const { $id } = await place.json<{ $id: string }>(['project', 'create', 'Some', '--id', 'unique()']);
  assert.match($id, /^[0-9a-f]{20}$/);
  const { out } = await place.svc(['audit', 'list', '--project', $id]);
  assert.match(out, /projectCreated/);
});

test('users of a deleted project are erased from the audit log, by id and by address', async () => {
  await place.json(['project', 'create', 'Club', '--id', 'club']);
  for (const name of ['ada', 'eve', 'bob'])
    await place.json(
      ['user', 'create', '--project', 'club', '--email', `${name}@club.example`, '--id', name, '--password-stdin'],
      'correct horse battery',
    );
  const erase = (user: string) => place.svc(['user', 'erase', user, '--project', 'club', '--confirm', user]);
  const deletion = await place.svc(['project', 'delete', 'club', '--confirm', 'club']);
  assert.match(deletion.out, /Its entries of the audit log stay/);
  assert.match(deletion.out + deletion.err, /next: svc user erase USER --project club /);
  const left = async () => {
    const { out } = await place.svc(['audit', 'list', '--project', 'club', '--json']);
    return ['ada', 'eve', 'bob'].filter((name) => out.includes(`${name}@club.example`));
  };
  assert.deepEqual(await left(), ['ada', 'eve', 'bob']);
  const byId = await erase('ada');
  assert.equal(byId.code, 0, byId.err);
  assert.match(byId.out, /^values of the audit log +[1-9]/m);
  assert.equal((await erase('EVE@club.example')).code, 0);
  assert.deepEqual(await left(), ['bob']);
  assert.equal((await erase('ada')).code, 0, 'an id can be erased again');
  const unknown = await erase('nobody');
  assert.equal(unknown.code, 3);
  assert.match(unknown.err, /club is deleted, and the audit log has no entry about such a user/);
  assert.match(unknown.err, /next: svc audit list --project club /);
  assert.equal((await place.json<{ ok: boolean }>(['audit', 'verify'])).ok, true);
});
