// Appwrite's own command line, unmodified: a push creates what the file says, and a second one changes nothing.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { clients, lacksClients, run, serveWorld } from './world.js';

const text = { type: 'string', required: false, array: false, default: null };
const collections = [
  {
    $id: 'posts',
    $permissions: ['read("any")'],
    databaseId: 'blog',
    name: 'posts',
    enabled: true,
    documentSecurity: false,
    attributes: [
      { ...text, key: 'title', size: 80, required: true },
      { ...text, key: 'at', type: 'datetime', format: '' },
      { ...text, key: 'count', type: 'integer', min: 0, max: 10, default: 3 },
      { ...text, key: 'kind', format: 'enum', elements: ['a', 'b'], default: 'a' },
      { ...text, key: 'tags', size: 20, array: true },
    ],
    indexes: [
      { key: 'by_title', type: 'key', status: 'available', attributes: ['title'], orders: ['ASC'] },
      { key: 'by_count', type: 'key', status: 'available', attributes: ['count', '$createdAt'], orders: [] },
    ],
  },
];

for (const version of ['appwrite-cli', 'appwrite-cli-11'])
  test(`${version}: a push creates a collection, the next pushes leave it and its documents alone, and the data commands work`, {
    skip: lacksClients,
  }, async () => {
    const { endpoint, project, key, place } = await serveWorld();
    const home = join(place.dir, 'home');
    mkdirSync(home);
    const file = {
      projectId: project,
      endpoint,
      databases: [{ $id: 'blog', name: 'Blog', enabled: true }],
      collections,
    };
    writeFileSync(join(place.dir, 'appwrite.json'), JSON.stringify(file));
    const appwrite = async (...args: string[]) => {
      const { code, printed } = await run(
        process.execPath,
        [join(clients, 'node_modules', version, 'index.js'), ...args],
        { HOME: home },
        place.dir,
      );
      assert.equal(code, 0, printed);
      return printed;
    };
    await appwrite('client', '--endpoint', endpoint, '--project-id', project, '--key', key);
    assert.match(await appwrite('push', 'collections', '--all', '--force'), /Successfully pushed 1 collections/);
    const posts = ['--database-id', 'blog', '--collection-id', 'posts'];
    await appwrite('databases', 'create-document', ...posts, '--document-id', 'one', '--data', '{"title":"kept"}');
    assert.match(await appwrite('push', 'collections', '--all', '--force'), /Successfully pushed 0 collections/);
    assert.match(await appwrite('databases', 'get-document', ...posts, '--document-id', 'one'), /kept/);

    // A pull returns the pushed schema: types can be generated from it, and pushing it again changes nothing.
    await appwrite('pull', 'tables', '--all');
    await appwrite('push', 'collections', '--all', '--force');
    assert.match(await appwrite('databases', 'get-document', ...posts, '--document-id', 'one'), /kept/);
    await appwrite('types', 'types', '--language', 'ts');
    assert.match(readFileSync(join(place.dir, 'types/appwrite.d.ts'), 'utf8'), /title: string/);

    await appwrite(
      'users',
      'create',
      '--user-id',
      'ada',
      '--email',
      'ada@mail.example',
      '--password',
      'a fine password',
    );
    assert.match(await appwrite('users', 'list', '--json'), /ada@mail\.example/);
    await appwrite('teams', 'create', '--team-id', 'crew', '--name', 'Crew');
    await appwrite('pull', 'teams');
    await appwrite('storage', 'create-bucket', '--bucket-id', 'files', '--name', 'Files');
    await appwrite('pull', 'buckets');
    writeFileSync(join(place.dir, 'a.txt'), 'from the CLI');
    const uploaded = ['--bucket-id', 'files', '--file-id', 'a'];
    await appwrite('storage', 'create-file', ...uploaded, '--file', 'a.txt');
    // `get-file-download` of these versions asks for an address with the endpoint twice.
    assert.match(await appwrite('storage', 'get-file', ...uploaded, '--json'), /"sizeOriginal": 12/);
    await appwrite('databases', 'update-document', ...posts, '--document-id', 'one', '--data', '{"count":7}');
    const found = await appwrite(
      'databases',
      'list-documents',
      ...posts,
      '--queries',
      '{"method":"equal","attribute":"count","values":[7]}',
      '--json',
    );
    assert.match(found, /"total": 1/);
    await appwrite('databases', 'delete-document', ...posts, '--document-id', 'one');
  });
