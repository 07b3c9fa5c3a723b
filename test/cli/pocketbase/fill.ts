// Fills a running PocketBase through its API: users, three collections with every kind of field, rules, files and a linked account.
import assert from 'node:assert/strict';

type Json = Record<string, unknown>;

/** The passwords of the users. */
export const passwords = { ada: 'ada has a password', bob: 'bob has a password', eve: 'eve has a password' } as const;
type Person = keyof typeof passwords;

/** A picture of one pixel. */
export const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A client of PocketBase with the rights of its superuser. */
export async function superuser(url: string, identity: string, password: string) {
  const send = async (method: string, path: string, body?: Json | FormData, token?: string): Promise<Json> => {
    const answer = await fetch(`${url}/api/${path}`, {
      method,
      headers: {
        ...(body instanceof FormData ? {} : { 'Content-Type': 'application/json' }),
        ...(token === undefined ? {} : { Authorization: token }),
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.equal(answer.ok, true, `${method} ${path}: ${text}`);
    return text === '' ? {} : JSON.parse(text);
  };
  const { token } = await send('POST', 'collections/_superusers/auth-with-password', { identity, password });
  return (method: string, path: string, body?: Json | FormData) => send(method, path, body, String(token));
}

/** Creates collections and records. */
export async function fill(send: Awaited<ReturnType<typeof superuser>>): Promise<void> {
  const users = await send('GET', 'collections/users');
  const own = (users.fields as Json[]).concat([
    { name: 'bio', type: 'text' },
    { name: 'level', type: 'number', onlyInt: true },
    { name: 'remark', type: 'text', hidden: true },
  ]);
  await send('PATCH', 'collections/users', {
    fields: own,
    oauth2: { enabled: true, providers: [{ name: 'google', clientId: 'client', clientSecret: 'secret' }] },
  });
  const created = { name: 'created', type: 'autodate', onCreate: true };
  const updated = { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true };
  const signedIn = '@request.auth.id != ""';
  const tags = await send('POST', 'collections', {
    name: 'tags',
    type: 'base',
    fields: [{ name: 'label', type: 'text', required: true, max: 40 }, created, updated],
    indexes: ['CREATE UNIQUE INDEX `idx_tags_label` ON `tags` (`label`)'],
    listRule: '',
    viewRule: '',
  });
  await send('POST', 'collections', {
    name: 'posts',
    type: 'base',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'body', type: 'editor' },
      { name: 'views', type: 'number', onlyInt: true, min: 0 },
      { name: 'score', type: 'number' },
      { name: 'open', type: 'bool' },
      { name: 'contact', type: 'email' },
      { name: 'link', type: 'url' },
      { name: 'appears', type: 'date' },
      { name: 'state', type: 'select', values: ['draft', 'live'], maxSelect: 1 },
      { name: 'moods', type: 'select', values: ['calm', 'loud', 'odd'], maxSelect: 3 },
      { name: 'author', type: 'relation', collectionId: users.id, maxSelect: 1 },
      { name: 'tags', type: 'relation', collectionId: tags.id, maxSelect: 9 },
      { name: 'cover', type: 'file', maxSelect: 1, thumbs: ['10x10'] },
      { name: 'papers', type: 'file', maxSelect: 3, protected: true },
      { name: 'extra', type: 'json' },
      { name: 'spot', type: 'geoPoint' },
      { name: 'price', type: 'number', hidden: true },
      created,
      updated,
    ],
    indexes: [
      'CREATE INDEX `idx_posts_title` ON `posts` (`title`, `created` DESC)',
      "CREATE UNIQUE INDEX `idx_posts_contact` ON `posts` (`contact`) WHERE `contact` != ''",
    ],
    listRule: signedIn,
    viewRule: signedIn,
    createRule: signedIn,
    updateRule: 'author = @request.auth.id',
    deleteRule: '@request.auth.id = author || @request.auth.role = "admin"',
  });
  const owned = 'owner = @request.auth.id';
  const notes = await send('POST', 'collections', {
    name: 'notes',
    type: 'base',
    fields: [
      { name: 'text', type: 'text' },
      { name: 'owner', type: 'relation', collectionId: users.id, maxSelect: 1 },
      { name: 'readers', type: 'relation', collectionId: users.id, maxSelect: 9 },
      { name: '_order', type: 'number' },
      created,
      updated,
    ],
    listRule: `${owned} || readers.id ?= @request.auth.id`,
    viewRule: `${owned} || readers.id ?= @request.auth.id`,
    createRule: `@request.auth.id != "" && ${owned}`,
    updateRule: `(${owned}) && @request.auth.verified = true`,
    deleteRule: owned,
  });
  await send('PATCH', 'collections/notes', {
    fields: [...(notes.fields as Json[]), { name: 'answers', type: 'relation', collectionId: notes.id, maxSelect: 1 }],
  });
  await send('POST', 'collections', {
    name: 'titles',
    type: 'view',
    viewQuery: 'SELECT id, title FROM posts',
    listRule: '',
  });

  const form = (members: Json, files: Readonly<Record<string, readonly string[]>>) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(members))
      for (const one of [value].flat()) data.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one));
    for (const [name, list] of Object.entries(files))
      for (const file of list) {
        const isPicture = file.endsWith('.png');
        data.append(name, new Blob([isPicture ? pixel : `paper ${file}`]), file);
      }
    return data;
  };
  const idOf = (name: string) => name.padEnd(15, '0');
  for (const [at, name] of (['ada', 'bob', 'eve'] as const satisfies readonly Person[]).entries()) {
    const members = {
      ...{ id: idOf(name), name, email: `${name}@mail.example`, verified: name !== 'bob', emailVisibility: false },
      ...{ password: passwords[name], passwordConfirm: passwords[name], bio: `I am ${name}.`, level: at },
      remark: `about ${name}`,
    };
    await send(
      'POST',
      'collections/users/records',
      form(members, name === 'ada' ? { avatar: ['Face of Ada.png'] } : {}),
    );
  }
  await send('POST', 'collections/_externalAuths/records', {
    ...{ collectionRef: users.id, recordRef: idOf('eve'), provider: 'google', providerId: '1234567890' },
  });
  for (const label of ['red', 'blue']) await send('POST', 'collections/tags/records', { id: idOf(label), label });
  const full = {
    ...{ id: idOf('first'), title: 'The first post 😀', body: '<p>Hello</p>', views: 12, score: 2.5, open: true },
    ...{ contact: 'desk@mail.example', link: 'https://example.com/a', appears: '2024-01-01 10:00:00.123Z' },
    ...{ state: 'live', moods: ['calm', 'odd'], author: idOf('ada'), tags: [idOf('red'), idOf('blue')] },
    ...{ extra: { deep: [1, null, 'two'] }, spot: { lon: 9.5, lat: 51.25 }, price: 99.5 },
  };
  const files = { cover: ['cover.png'], papers: ['one.txt', 'two.txt'] };
  await send('POST', 'collections/posts/records', form(full, files));
  await send('POST', 'collections/posts/records', { id: idOf('second'), title: 'Empty', author: idOf('bob') });
  await send('POST', 'collections/notes/records', {
    ...{ id: idOf('shared'), text: 'for bob too', owner: idOf('ada'), readers: [idOf('bob')], _order: 1 },
  });
  await send('POST', 'collections/notes/records', {
    ...{ id: idOf('own'), text: 'mine', owner: idOf('bob'), _order: 2, answers: idOf('shared') },
  });
}
