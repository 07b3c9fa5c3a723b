// Changing the settings file with the command.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installation, install } from '../harness/cli.js';
import { after } from '../harness/runner.js';

let place: Installation;
let file = '';
before(async () => {
  place = await install();
  file = join(place.dir, 'svc.env');
});
after(() => place.dispose());

const text = () => readFileSync(file, 'utf8');
const refused = async (args: readonly string[], message: RegExp, input = '') => {
  const earlier = text();
  const { code, err } = await place.svc(['config', ...args], { input });
  assert.equal(code, 2, `${args.join(' ')}: ${err}`);
  assert.match(err, message);
  assert.equal(text(), earlier, 'the file is unchanged');
};

test('set changes one line in its place, and unset restores it', async () => {
  chmodSync(file, 0o640);
  const [earlier, inode] = [text(), statSync(file).ino];
  const set = await place.json(['config', 'set', 'SVC_LOG_LEVEL', 'debug']);
  assert.deepEqual(set, { file, keys: ['SVC_LOG_LEVEL'], changed: true, restart: false, reload: true });
  assert.equal(text(), earlier.replace('#SVC_LOG_LEVEL=info', 'SVC_LOG_LEVEL=debug'));
  assert.equal(statSync(file).mode & 0o777, 0o640);
  assert.notEqual(statSync(file).ino, inode, 'the file is replaced at once');
  const again = await place.json<{ changed: boolean }>(['config', 'set', 'SVC_LOG_LEVEL', 'debug']);
  assert.equal(again.changed, false);
  await place.json(['config', 'unset', 'SVC_LOG_LEVEL']);
  assert.equal(text(), earlier);
});

test('the result says whether a running server needs a restart', async () => {
  for (const [key, value, restart, reload, words] of [
    ['SVC_SESSION_DAYS', '14', true, false, 'after a restart'],
    ['SVC_RATE_LIMITS', 'data=1000/60', false, true, 'systemctl reload svc'],
    ['SVC_PROJECT', 'shop', false, false, 'from now on'],
    ['SVC_UPDATE_URL', 'https://updates.example.com/latest', false, false, 'from now on'],
  ] as const) {
    const { out } = await place.svc(['config', 'set', key, value]);
    assert.ok(out.includes(words), out);
    const unset = await place.json<{ restart: boolean; reload: boolean }>(['config', 'unset', key]);
    assert.deepEqual([unset.restart, unset.reload], [restart, reload], key);
  }
});

test('an invalid value, an unknown name and an incomplete pair leave the file unchanged', async () => {
  await refused(['set', 'SVC_PORT', 'many'], /SVC_PORT must be a whole number/);
  await refused(
    ['set', 'SVC_LOG_LEVL', 'debug'],
    /There is no setting SVC_LOG_LEVL\.\nnext: did you mean SVC_LOG_LEVEL\?/,
  );
  await refused(['set', 'SVC_LOG_LEVEL'], /either VALUE or --value-file/);
  await refused(['set', 'SVC_LOG_LEVEL', ''], /svc config unset SVC_LOG_LEVEL/);
  await refused(['set', 'SVC_MAIL_FROM', 'a\nSVC_PORT=1'], /several lines/);
  await refused(['set', 'SVC_TLS_CERT', 'cert.pem'], /SVC_TLS_CERT and SVC_TLS_KEY go together/);
  await refused(['set', 'SVC_LOG_FILE', join(place.dir, 'none/svc.log')], /its directory does not exist/);
  await refused(['set', 'SVC_MASTER_KEY', 'x'], /encrypts the stored secrets/);
  await refused(['unset', 'SVC_MASTER_KEY'], /encrypts the stored secrets/);
});

test('a secret comes from a file or stdin, and is not printed', async () => {
  const url = 'smtps://svc:verborgen@mail.example.com';
  for (const [key, value] of [
    ['SVC_SMTP_URL', 'smtps://svc@mail.example.com'],
    ['SVC_SMS_URL', 'https://sms.example.com/send'],
    ['SVC_DATABASE_URL', 'postgres://db.example.com/svc?user=svc'],
    ['SVC_BACKUP_PASSPHRASE', 'file:passphrase'],
  ] as const)
    await refused(['set', key, value], /--value-file FILE, or - for stdin/);
  const pair = ['config', 'set', 'SVC_SMTP_URL', '--value-file', '-', '--and', 'SVC_MAIL_FROM=svc@example.com'];
  const { code, out, err } = await place.svc(pair, { input: `${url}\n` });
  assert.deepEqual([code, (out + err).includes('verborgen')], [0, false], err);
  assert.ok(text().includes(`\nSVC_SMTP_URL=${url}\n`) && text().includes('\nSVC_MAIL_FROM=svc@example.com\n'));
  writeFileSync(join(place.dir, 'url'), 'smtps://other.example.com\n');
  await place.json(['config', 'set', 'SVC_SMTP_URL_FILE', join(place.dir, 'url'), '--and', 'SVC_SESSION_DAYS=7']);
  await place.json(['config', 'set', 'SVC_SMTP_URL', '--value-file', 'url']);
  assert.doesNotMatch(text(), /^SVC_SMTP_URL_FILE=/m);
  await place.json(['config', 'unset', 'SVC_SMTP_URL', '--and', 'SVC_MAIL_FROM']);
  assert.doesNotMatch(text(), /^SVC_(SMTP_URL|MAIL_FROM)/m);
});

test('a URL without a secret is an argument', async () => {
  const files = `file:${join(place.dir, 'bytes')}`;
  await place.json(['config', 'set', 'SVC_FILES_URL', files]);
  assert.ok(text().includes(`\nSVC_FILES_URL=${files}\n`));
  await place.json(['config', 'unset', 'SVC_FILES_URL']);
  await place.json([
    'config',
    'set',
    'SVC_SMTP_URL',
    'smtps://mail.example.com',
    '--and',
    'SVC_MAIL_FROM=a@example.com',
  ]);
  await place.json(['config', 'unset', 'SVC_SMTP_URL', '--and', 'SVC_MAIL_FROM']);
  await refused(
    ['set', 'SVC_FILES_URL', 's3://key:verborgen@bucket'],
    /URL with a password[\s\S]*config set SVC_FILES_URL - /,
  );
});

test('KEY=VALUE is accepted, and further settings follow --and', async () => {
  const set = await place.json<{ keys: string[] }>(['config', 'set', 'SVC_SESSION_DAYS=9']);
  assert.deepEqual(set.keys, ['SVC_SESSION_DAYS']);
  assert.match(text(), /^SVC_SESSION_DAYS=9$/m);
  await refused(['set', 'SVC_SESSION_DAYS=9', 'SVC_TOTAL_LIMIT=1'], /--and KEY=VALUE/);
  await refused(['set', 'SVC_SESSION_DAYS', '9', 'SVC_TOTAL_LIMIT', '1'], /--and SVC_TOTAL_LIMIT=VALUE\n/);
  await refused(['unset', 'SVC_SESSION_DAYS', 'SVC_TOTAL_LIMIT'], /--and SVC_TOTAL_LIMIT\n/);
  await place.json(['config', 'unset', 'SVC_SESSION_DAYS']);
});

test('SVC_PROJECT must be a project, if there are projects', async () => {
  const { code, err } = await place.svc(['config', 'set', 'SVC_PROJECT', 'shop']);
  assert.deepEqual([code, /svc project create NAME --id shop creates it/.test(err)], [0, true], err);
  await place.json(['config', 'unset', 'SVC_PROJECT']);
  await place.json(['project', 'create', 'Shop', '--id', 'shop']);
  await refused(['set', 'SVC_PROJECT', 'shpo'], /there is no project shpo\. The projects are: shop\./);
  await place.json(['config', 'set', 'SVC_PROJECT', 'shop']);
  await place.json(['config', 'unset', 'SVC_PROJECT']);
});

test('SVC_UPDATE_URL must be https, because the egress guard refuses http', async () => {
  const http = 'http://updates.example.com/latest';
  await refused(
    ['set', 'SVC_UPDATE_URL', http],
    /SVC_UPDATE_URL must be https; SVC_WEBHOOK_ALLOW_INSECURE allows http/,
  );
});

test('a file with a mistake can be corrected', async () => {
  writeFileSync(file, `${text()}SVC_POOL=3\nSVC_SESSION_DAYS=many\n`);
  const { code, err } = await place.svc(['config', 'set', 'SVC_SESSION_DAYS', '5']);
  assert.equal(code, 0, err);
  assert.match(err, /Still to be corrected: SVC_POOL /);
  writeFileSync(file, text().replace('SVC_POOL=3\n', ''));
});

test('without a settings file there is nothing to change', async () => {
  const other = await install({ init: false });
  after(() => other.dispose());
  const none = await other.svc(['config', 'set', 'SVC_LOG_LEVEL', 'debug', '--json']);
  assert.deepEqual([none.code, JSON.parse(none.err).error.type], [7, 'installation_not_found']);
});
