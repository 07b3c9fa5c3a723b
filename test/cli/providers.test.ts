// Login providers by command: no secret is printed, and what cannot work is refused before anything is stored.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

type Provider = Record<'key' | 'kind' | 'name' | 'callbackUrl', string> & { enabled: boolean };
const shop = ['--project', 'shop'];
const corp = ['provider', 'add', 'oidc', ...shop, '--key', 'corp', '--client-id', 'svc'];
const issuer = ['--issuer', 'https://login.example.com'];
let place: Installation;
before(async () => {
  place = await install();
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
});
after(() => place.dispose());

test('what cannot work is refused, and nothing is stored', async () => {
  const refused: readonly [string[], string, RegExp][] = [
    [[...corp, ...issuer, '--secret-stdin'], '', /--secret-stdin: standard input was empty/],
    [[...corp, ...issuer, '--secret-stdin'], ' \n', /client secret is empty/i],
    [[...corp, ...issuer, '--secret-stdin', '--secret-file', '/dev/null'], 'x', /exclude each other/],
    [[...corp, ...issuer, '--secret-file', '/dev/null'], '', /client secret is empty/i],
    [[...corp, '--issuer', 'javascript:alert(1)', '--secret-stdin'], 'x', /only https/],
    [['provider', 'add', 'oidc', ...shop, '--key', 'google', '--client-id', 'svc', ...issuer], '', /google/],
  ];
  for (const [args, input, message] of refused) {
    const { code, out, err } = await place.svc(args, { input });
    assert.deepEqual([code === 0, out], [false, ''], args.join(' '));
    assert.match(err, message);
    assert.doesNotMatch(err, /\bat .*\.js:|select |insert /i);
  }
  assert.deepEqual(await place.json(['provider', 'list', ...shop]), { total: 0, providers: [] });
});

test('a provider is added, shown without its secret, changed and removed', async () => {
  const added = await place.json<Provider>([...corp, ...issuer, '--name', 'Corp', '--secret-stdin'], 'kept-secret\n');
  assert.deepEqual([added.key, added.kind, added.name, added.enabled], ['corp', 'oidc', 'Corp', true]);
  assert.match(added.callbackUrl, /\/v1\/account\/sessions\/oauth2\/callback\/corp\/shop$/);
  const shown = await place.svc(['provider', 'show', 'corp', ...shop]);
  assert.equal(shown.code, 0);
  assert.ok(!`${JSON.stringify(added)} ${shown.out}`.includes('kept-secret'));
  assert.deepEqual(
    (await place.sql('select * from providers')).filter((row) => JSON.stringify(row).includes('kept-secret')),
    [],
  );
  const changed = await place.json<Provider>(['provider', 'update', 'corp', ...shop, '--enabled', 'off']);
  assert.deepEqual([changed.name, changed.enabled], ['Corp', false]);
  const claims = async (...given: string[]) => {
    const { emailClaim, nameClaim } = await place.json<Record<string, unknown>>([
      'provider',
      'update',
      'corp',
      ...shop,
      ...given,
    ]);
    return [emailClaim, nameClaim];
  };
  assert.deepEqual(await claims('--email-claim', 'upn', '--name-claim', 'displayName'), ['upn', 'displayName']);
  assert.deepEqual(await claims('--email-claim', ''), [undefined, 'displayName']);
  await place.json(['provider', 'remove', 'corp', ...shop, '--yes']);
  assert.equal((await place.svc(['provider', 'show', 'corp', ...shop])).code, 3);
});
