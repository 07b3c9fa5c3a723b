// Every URL of a caller that a message or a redirect leads to is a page on a platform of the project, reached by http or https, or leads to
// an app of the project.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { aLoggedInUser, aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { type Client, createClient } from '../harness/client.js';
import { nothing, recordedBy } from '../harness/database.js';

const target = await startAppliance();
const guest = createClient(target);
const user = await aLoggedInUser(target);
const key = await aServerKey(target);
const platform = { platformId: 'unique()', name: '', hostname: 'app.example.com' };
(await key.client.post('/project/platforms/web', platform)).expect(201);
const ofApp = { email: user.email, url: 'appwrite-callback-main://' };
(await guest.post('/account/recovery', ofApp)).refused(400, 'general_argument_invalid');
const app = { platformId: 'unique()', name: 'App', applicationId: 'com.example.app' };
(await key.client.post('/project/platforms/android', app)).expect(201);
(await user.client.post('/teams', { teamId: 'team', name: 'Team' })).expect(201);

const invited = { email: 'invited@mail.example', roles: [] };
const token = { userId: 'unique()', email: 'linked@mail.example' };
/** [operation, who, path, the rest of the body] */
const takers: [string, Client, string, object][] = [
  ['account.createRecovery', guest, '/account/recovery', { email: user.email }],
  ['account.createVerification', user.client, '/account/verification', {}],
  ['account.createMagicURLToken', guest, '/account/tokens/magic-url', token],
  ['teams.createMembership', user.client, '/teams/team/memberships', invited],
];

const wrong = [
  ...['blob:https://app.example.com/0f6c', 'blob:http://localhost:3000/0f6c', 'BLOB:https://app.example.com/'],
  ...[
    'filesystem:https://app.example.com/temporary/',
    'view-source:https://app.example.com/',
    'feed:https://app.example.com/',
  ],
  ...['data:text/html,https://app.example.com/', 'javascript://app.example.com/%0aalert(1)', 'about:blank'],
  ...[
    'ftp://app.example.com/',
    'ws://localhost/',
    'wss://app.example.com/',
    'file://localhost/etc',
    'mailto:a@app.example.com',
  ],
  ...[
    'appwrite-callback-neighbour://open',
    'appwrite-callback-main2://open',
    'appwrite-callback-main://user@open',
    'appwrite-android://com.example.shop',
    'intent://app.example.com/',
    'myapp://app.example.com/',
    'jar:https://app.example.com/!/',
    'http://app.example.com/',
  ],
  ...[
    'https://app.example.com\\.evil.example/',
    'https://app.example.com@evil.example/',
    '//app.example.com/',
    'app.example.com',
  ],
  ...['https://evil.example/', ' https://app.example.com/', 'https://app.example.com/\n', 'blob:'],
];
const right = [
  ...['https://app.example.com/page?a=blob:x', 'http://localhost:3000/page', 'HTTPS://APP.example.com/'],
  ...['appwrite-callback-main://', 'appwrite-callback-main://open/page?a=1', 'APPWRITE-CALLBACK-main://open'],
];

for (const [id, client, path, rest] of takers) {
  test(`${id} leads to pages of platforms only`, async () => {
    for (const url of wrong) {
      const { value, recorded } = await recordedBy(target, () => client.post(path, { ...rest, url }));
      assert.match(value.refused(400, 'general_argument_invalid').string('message'), /url/, url);
      assert.deepEqual(recorded, nothing);
    }
    for (const url of right) {
      const answer = await client.post(path, { ...rest, url });
      assert.ok(answer.status === 201 || answer.status === 409, `${url} ${answer.text}`);
    }
  });
}

test('a URL off the platforms, or none, is refused with advice', async () => {
  const say = async (url?: string) => {
    const answer = await user.client.post('/teams/team/memberships', { ...invited, url });
    return answer.refused(400, 'general_argument_invalid').string('message');
  };
  const command = 'To add the host: svc platform add --project main --hostname HOST';
  assert.equal(await say(), 'Param "url" is not optional.');
  assert.ok((await say('https://shop.example/join')).endsWith(command));
  for (const url of ['http://app.example.com/', 'myapp://shop.example/', 'shop.example'])
    assert.ok((await say(url)).endsWith('is a platform of the project.'), url);
});

test('every operation that takes such a URL is one of these', () => {
  const known = new Set(takers.map(([, , path]) => path.replace('/team/', '/:teamId/')));
  const taking = target.appliance.features.operations.filter(({ declaration: { input: { body, query } = {} } }) =>
    [body, query].some(
      (schema) =>
        schema instanceof z.ZodObject &&
        Object.keys(schema.shape).some((name) => /^(url|success|failure)$/i.test(name)),
    ),
  );
  const others = taking.flatMap(({ declaration }) =>
    [declaration.path, ...(declaration.aliases ?? [])].some((path) => known.has(path)) ? [] : [declaration.id],
  );
  // Where deliveries go is judged by the guard of outbound calls; what a browser opens is asked below, and in the tests of OAuth2 and SAML.
  const inAddress = /^(pages\.|account\.create(OAuth2(Session|Token)|SamlSession)$)/;
  assert.deepEqual(others.filter((id) => !inAddress.test(id)).sort(), ['webhooks.create', 'webhooks.update']);
});

test('pages of the service lead to pages of platforms only', async () => {
  const pages = target.appliance.features.operations.filter(
    ({ declaration: { id, method } }) => id.startsWith('pages.') && method === 'GET',
  );
  const guest = createClient(target);
  let asked = 0;
  for (const { declaration } of pages) {
    if (!(declaration.input?.query instanceof z.ZodObject) || !('success' in declaration.input.query.shape)) continue;
    asked += 1;
    const open = (success: string) =>
      guest.get(`${declaration.path}?project=main&success=${encodeURIComponent(success)}`);
    for (const url of wrong) assert.equal((await open(url)).status, 400, `${declaration.id} ${url}`);
    // A guest is led to the sign-in page.
    const granted = declaration.reply.orRedirect ? 302 : 200;
    for (const url of right) assert.equal((await open(url)).status, granted, `${declaration.id} ${url}`);
  }
  assert.ok(asked > 8, String(asked));
});
