// The served description of the interface: valid, complete, and true of every operation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { routePathsOf } from '#src/http/routes.js';
import { fileWalk } from '../files/walk.js';
import { aLoggedInUser, aPerson, aServerKey, aUser, signUpBody } from '../harness/actors.js';
import { createJudge, type RecordedAnswer } from '../harness/answers.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { runSql } from '../harness/database.js';
import { changeSettings } from '../harness/project.js';
import { accountWalk } from '../hosted-pages/account-walk.js';
import { hostedPagesWalk } from '../hosted-pages/walk.js';
import { passkeyWalk } from '../passkeys/walk.js';
import { aGuardedUser } from '../second-factor/people.js';
import { secondFactorWalk } from '../second-factor/walk.js';
import {
  documentWalk,
  loginWalk,
  neverGranted,
  proofWalk,
  tableWalk,
  teamWalk,
  userWalk,
  webhookWalk,
} from './openapi-walks.js';

const target = await startAppliance({ settings: { SVC_SMS_URL: 'https://user:pass@sms.example/send' } });
const guest = createClient(target);
const methods = ['get', 'post', 'put', 'patch', 'delete'];

type Described = {
  openapi: string;
  info: { title: string };
  paths: Record<string, Record<string, { operationId: string }>>;
};
const document = (await guest.get('/openapi.json')).expect(200).body as unknown as Described;
// Asked before the validator begins: it takes seconds without a pause, and the server closes connections that idle for so long.
const atRoot = (await guest.get('//openapi.json')).expect(200);
const described = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId }]) => ({ path, method, operationId })),
);

/** This validator takes a property that is called `$id` for the keyword, which the dialect does not; so it gets to see another name. */
async function validate(text: string) {
  const result = await new Validator().validate(JSON.parse(text.replaceAll('"$id"', '"id"')));
  // That took seconds in which this process did nothing else; connections that were idle for too long meanwhile are closed now.
  await sleep(200);
  return result;
}

test('the document is valid OpenAPI 3.1', async () => {
  assert.match(document.openapi, /^3\.1\./);
  const { valid, errors } = await validate(JSON.stringify(document));
  assert.ok(valid, JSON.stringify(errors, null, 1));
});

test('no pattern has a class such as \\p{Cc}, which Python does not know', () => {
  const patterns = Array.from(
    JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g),
    ([, text = '']) => text,
  );
  assert.ok(patterns.length > 20);
  assert.deepEqual(
    patterns.filter((text) => /\\p\{/i.test(text)),
    [],
  );
});

test('the validator would have found a mistake', async () => {
  const spoiled = JSON.parse(JSON.stringify(document));
  spoiled.paths['/account'].get.responses = 'none';
  assert.equal((await validate(JSON.stringify(spoiled))).valid, false);
});

/** Everything below a key `schema`, and the schemas with names. */
function schemasOf(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...(key === 'schema' && typeof member === 'object' ? [member] : []),
    ...(key === 'schemas' ? Object.values(member) : []),
    ...schemasOf(member),
  ]);
}

test('every schema of the document is one of JSON Schema 2020-12', () => {
  const ajv = new Ajv2020();
  const schemas = schemasOf(document);
  assert.ok(schemas.length > 500, String(schemas.length));
  for (const schema of schemas) assert.ok(ajv.validateSchema(schema), JSON.stringify([schema, ajv.errors]));
  assert.equal(ajv.validateSchema({ type: 'object', properties: { name: { type: 'text' } } }), false);
});

test('the document names the project and is the same at the root and under /v1', async () => {
  assert.deepEqual(atRoot.body, document);
  assert.equal(document.info.title, target.project.name);
  assert.deepEqual(await target.appliance.describe(target.project), document);
});

test('every operation has an id of its own and declares the envelope for its errors', () => {
  assert.equal(new Set(described.map(({ operationId }) => operationId)).size, described.length);
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const { responses } = operation as unknown as { responses: Record<string, unknown> };
      const codes = Object.keys(responses);
      assert.ok(codes.includes('500') && codes.includes('503'), `${method} ${path} lists ${codes}`);
      assert.ok(
        codes.some((code) => code.startsWith('2') || code === '302'),
        `${method} ${path} lists ${codes}`,
      );
    }
  }
});

test('what operations answer errors with is described once for all of them', () => {
  const { responses } = (document as unknown as { components: { responses: Record<string, unknown> } }).components;
  const texts = Object.values(responses).map((response) => JSON.stringify(response));
  assert.equal(new Set(texts).size, texts.length);
  const used = new Set<string>();
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    const own = (operation as unknown as { responses: Record<string, { $ref?: string }> }).responses;
    for (const [code, { $ref }] of Object.entries(own).filter(([status]) => Number(status) >= 400)) {
      const name = $ref?.replace('#/components/responses/', '') ?? '';
      assert.ok(JSON.stringify(responses[name])?.includes(`"const":${code}`), `${code} ${$ref}`);
      used.add(name);
    }
  }
  assert.deepEqual([...used].sort(), Object.keys(responses).sort());
  assert.ok(JSON.stringify(document).length < 1_150_000);
});

test('every described operation is mounted, and nothing else is', async () => {
  // The router is asked by its own answers: an address with its method gives anything but 404 and 405.
  const file = await viewerFile();
  const concrete = (path: string) => path.replace('{name}', file).replace(/\{[^}]+\}/g, 'some-id');
  for (const { path, method } of described) {
    const answer = await guest.request(method.toUpperCase(), concrete(path));
    const type = answer.status === 200 ? undefined : answer.text !== '' && answer.body.type;
    assert.ok(type !== 'general_route_not_found' && answer.status !== 405, `${method} ${path}: ${answer.text}`);
  }
  const paths = [...new Set(described.map(({ path }) => concrete(path)))];
  for (const path of paths) {
    const fits = (template: string) => new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path);
    for (const method of methods) {
      if (described.some((one) => one.method === method && fits(one.path))) continue;
      const answer = (await guest.request(method.toUpperCase(), path)).refused(405, 'general_method_unsupported');
      assert.doesNotMatch(answer.headers.get('Allow') ?? '', new RegExp(`\\b${method}\\b`, 'i'));
    }
  }
  const declared = target.appliance.features.operations.flatMap(({ declaration }) =>
    routePathsOf(declaration)
      .filter((path) => path.startsWith('/v1/'))
      .map((path) => `${declaration.method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`),
  );
  const listed = described.map(({ path, method }) => `${method} /v1${path}`);
  assert.deepEqual(
    declared.filter((one) => !listed.includes(one)),
    [],
  );
});

/** The published name of a file of the pages for developers. */
async function viewerFile(): Promise<string> {
  const { text } = await guest.get('/docs?project=main');
  return /docs\/assets\/([\w.-]+)"/.exec(text)?.[1] ?? '';
}

test('every operation succeeds as described', async () => {
  const { client, email, password } = await aLoggedInUser(target);
  const key = (await aServerKey(target)).client;
  const guarded = await aGuardedUser(target);
  const fresh = async () => (await aLoggedInUser(target)).client;
  await changeSettings(target, { 'api.reference': true });
  const platform = { platformId: 'web-1', name: 'Web', hostname: 'app.example.com' };
  const apps = [
    ['Android', 'applicationId'],
    ['Apple', 'bundleIdentifier'],
    ['Linux', 'packageName'],
    ['Windows', 'packageIdentifierName'],
  ] as const;
  const walk: [string, string, string, unknown?, typeof guest?][] = [
    ['operations_health', 'GET', '/healthz'],
    ['operations_ready', 'GET', '/readyz'],
    ['operations_metrics', 'GET', '/metrics'],
    ['operations_openapi', 'GET', '/openapi.json'],
    ['operations_ping', 'GET', '/ping'],
    ['operations_start', 'GET', '/'],
    ['operations_reference', 'GET', '/docs?project=main'],
    ['operations_referenceAsset', 'GET', `/docs/assets/${await viewerFile()}`],
    ['locale_get', 'GET', '/locale'],
    ['locale_listCodes', 'GET', '/locale/codes'],
    ['locale_listContinents', 'GET', '/locale/continents'],
    ['locale_listCountries', 'GET', '/locale/countries'],
    ['locale_listCountriesEU', 'GET', '/locale/countries/eu'],
    ['locale_listCountriesPhones', 'GET', '/locale/countries/phones'],
    ['locale_listCurrencies', 'GET', '/locale/currencies'],
    ['locale_listLanguages', 'GET', '/locale/languages'],
    ['health_get', 'GET', '/health', undefined, key],
    ['health_getDB', 'GET', '/health/db', undefined, key],
    ['health_getTime', 'GET', '/health/time', undefined, key],
    ['health_version', 'GET', '/health/version'],
    ['avatars_getBrowser', 'GET', '/avatars/browsers/ff'],
    ['avatars_getCreditCard', 'GET', '/avatars/credit-cards/visa'],
    ['avatars_getFlag', 'GET', '/avatars/flags/de'],
    ['avatars_getInitials', 'GET', '/avatars/initials?name=Ada'],
    ['avatars_getQR', 'GET', '/avatars/qr?text=x'],
    ['account_create', 'POST', '/account', signUpBody(aPerson())],
    ['account_get', 'GET', '/account', undefined, client],
    ['account_updateName', 'PATCH', '/account/name', { name: 'New' }, client],
    ['account_updateEmail', 'PATCH', '/account/email', { email: `new-${email}`, password }, client],
    [
      'account_updatePassword',
      'PATCH',
      '/account/password',
      { password: 'another one', oldPassword: password },
      client,
    ],
    ['account_updatePrefs', 'PATCH', '/account/prefs', { prefs: { theme: 'dark' } }, client],
    ['account_getPrefs', 'GET', '/account/prefs', undefined, client],
    ['account_createEmailSession', 'POST', '/account/sessions/email', await credentials()],
    ['account_createEmailSession__account_sessions', 'POST', '/account/sessions', await credentials()],
    ['account_listSessions', 'GET', '/account/sessions', undefined, client],
    ['account_createJwt', 'POST', '/account/jwts', {}, client],
    ['account_createJwt__account_jwt', 'POST', '/account/jwt', { alg: 'RS256' }, client],
    ['operations_keys', 'GET', '/keys'],
    ['operations_discovery', 'GET', '/openid-configuration'],
    ['projects_keys', 'GET', '/projects/main/.well-known/jwks.json'],
    ['projects_discovery', 'GET', '/projects/main/.well-known/openid-configuration'],
    ['account_getSession', 'GET', '/account/sessions/current', undefined, client],
    ['account_updateSession', 'PATCH', '/account/sessions/current', undefined, client],
    ['account_deleteSession', 'DELETE', '/account/sessions/current', undefined, client],
    ['account_deleteSessions', 'DELETE', '/account/sessions', undefined, await fresh()],
    ['account_updateStatus', 'PATCH', '/account/status', undefined, await fresh()],
    ['account_delete', 'DELETE', '/account', undefined, await fresh()],
    ...(await proofWalk(target)),
    ['platforms_create', 'POST', '/project/platforms/web', platform, key],
    ['platforms_list', 'GET', '/project/platforms', undefined, key],
    ['platforms_get', 'GET', '/project/platforms/web-1', undefined, key],
    ['platforms_update', 'PUT', '/project/platforms/web/web-1', { name: 'W', hostname: 'www.example.com' }, key],
    ['platforms_delete', 'DELETE', '/project/platforms/web-1', undefined, key],
    ...apps.flatMap(([name, member]): typeof walk => {
      const path = `/project/platforms/${name.toLowerCase()}`;
      const app = { name, [member]: 'com.example.app' };
      return [
        [`platforms_create${name}`, 'POST', path, { ...app, platformId: name }, key],
        [`platforms_update${name}`, 'PUT', `${path}/${name}`, app, key],
      ];
    }),
    ['audit_list', 'GET', '/audit?limit=5&action=keyCreated', undefined, key],
    ...(await secondFactorWalk(target)),
    ...(await passkeyWalk(target)),
    ...(await hostedPagesWalk(target)),
    ...(await accountWalk(target)),
    ['users_deleteMfaAuthenticator', 'DELETE', `/users/${guarded.id}/mfa/authenticators/totp`, undefined, key],
    ...(await loginWalk(key)),
    ...(await teamWalk(target)),
    ...(await fileWalk(target)),
    ...[...documentWalk, ...tableWalk, ...webhookWalk, ...userWalk].map(
      ([id, method, path, body]) => [id, method, path, body, key] as [string, string, string, unknown, typeof guest],
    ),
  ];
  assert.deepEqual(
    [...walk.map(([id]) => id), ...neverGranted].sort(),
    described.map(({ operationId }) => operationId).sort(),
  );
  let made = '';
  for (const [id, method, path, body, caller = guest] of walk) {
    const answer = await caller.request(method, path.replace('LAST', made), body);
    if (['users_createSession', 'databases_createTransaction', 'tablesdb_createTransaction'].includes(id))
      made = answer.string('$id');
    if (id === 'webhooks_test') {
      made = (answer.body.delivery as { deliveryId: string }).deliveryId;
      // Only a delivery of an event can be replayed, and no server delivers here.
      await runSql(target, 'update deliveries set test = 0');
    }
    // No way in makes identities yet, so there is none to delete.
    // The forms of pages lead on, and so does the page that moved.
    const done = /^pages_post|^pages_magicURL$|^operations_openMailbox$/.test(id) ? 303 : 300;
    const isDone = /deleteIdentity$|^pages_postAccountIdentity$/.test(id)
      ? answer.status === 404
      : answer.status < done;
    assert.ok(isDone, `${id}: ${answer.status} ${answer.text}`);
    assert.equal(target.answers.at(-1) && target.judge.operationOf(last()), id);
  }

  async function credentials() {
    const user = await aUser(target);
    return { email: user.email, password: user.password };
  }
  function last() {
    const answer = target.answers.at(-1);
    assert.ok(answer);
    return answer;
  }
});

test('an answer that differs from the document is noticed', () => {
  const judge = createJudge(document as unknown as Parameters<typeof createJudge>[0]);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'a' };
  const health = { method: 'GET', path: '/healthz', status: 200, headers, body: '{"status":"ok"}' };
  const error = { message: '', code: 401, type: 'general_unauthorized_scope', version: '1.0.0' };
  const refusal = { ...health, path: '/v1/account', status: 401 };
  assert.equal(judge.problem(health), undefined);
  assert.equal(judge.problem({ ...refusal, body: JSON.stringify(error) }), undefined);
  const planted: [string, RecordedAnswer, RegExp][] = [
    ['wrong value', { ...health, body: '{"status":"fine"}' }, /equal to constant/],
    ['missing member', { ...health, body: '{}' }, /required property 'status'/],
    ['member that is not declared', { ...health, body: '{"status":"ok","secret":1}' }, /additional properties/],
    ['undeclared status', { ...health, status: 202 }, /202 is not declared/],
    ['no request id', { ...health, headers: { ...headers, 'x-request-id': undefined } }, /no X-Request-Id/],
    ['other media type', { ...health, headers: { ...headers, 'content-type': 'text/html' } }, /is not application/],
    ['undeclared error', { ...refusal, body: JSON.stringify({ ...error, type: 'key_not_found' }) }, /allowed values/],
    ['other code than status', { ...refusal, body: JSON.stringify({ ...error, code: 403 }) }, /equal to constant/],
    ['no envelope', { ...refusal, body: '{"type":"general_unauthorized_scope"}' }, /required property 'message'/],
    ['body of an empty answer', { ...health, method: 'DELETE', path: '/v1/account', status: 204 }, /body where none/],
    ['unknown route', { ...health, path: '/unknown' }, /where no operation/],
    ['wrong error of an unknown route', { ...health, path: '/x', status: 404, body: '{"type":"a"}' }, /type a where/],
  ];
  for (const [name, answer, problem] of planted) assert.match(judge.problem(answer) ?? 'no problem', problem, name);
});

test('a test whose server gave such an answer fails', async () => {
  const own = await startAppliance();
  const health = own.appliance.features.operations.find(({ declaration }) => declaration.id === 'account.get');
  assert.ok(health);
  const user = await aLoggedInUser(own);
  const { handle } = health;
  Object.assign(health, {
    handle: async (call: Parameters<typeof handle>[0]) => ({ ...((await handle(call)) as object), hash: 'x' }),
  });
  await assert.rejects(user.client.get('/account'), /does not describe[\s\S]*additional properties/);
  // Asked by whoever else, it is found when the server closes.
  await fetch(`${own.origin}/v1/account`, {
    headers: { 'X-Service-Project': 'main', 'X-Service-Session': user.secret },
  });
  await assert.rejects(own.close(), /does not describe/);
  Object.assign(own, { close: async () => {} });
});
