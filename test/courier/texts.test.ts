// The texts: those that svc brings are sound, an installation replaces them file by file, and a fault is named with file and line.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, test } from 'node:test';
import { secondFactors } from '#src/features/identity/factors/index.js';
import { createTexts, lintTexts, messageNames } from '#src/features/installation/courier/index.js';
import { messages, sampleVariables } from '#src/features/installation/courier/model/messages.js';
import { createTemplates, type Fault } from '#src/platform/templates/templates.js';
import { root } from '../harness/checkout.js';
import { startMailServer } from '../harness/mail-server.js';
import { after } from '../harness/runner.js';
import { arrived, send, startSending } from './setup.js';

const own = mkdtempSync(join(tmpdir(), 'svc-templates-'));
after(() => rmSync(own, { recursive: true, force: true }));
afterEach(() => {
  for (const name of readdirSync(own)) rmSync(join(own, name), { recursive: true });
});
const templates = createTemplates({ dataDir: '/nowhere', templatesDir: own });
const put = (path: string, text: string) => {
  mkdirSync(dirname(join(own, path)), { recursive: true });
  writeFileSync(join(own, path), text);
};
const faults: Fault[] = [];
const texts = createTexts(templates, (fault) => faults.push(fault));
const values = { ...sampleVariables, project: 'Shop', name: 'Ada' };

test('those that svc brings are sound, and there are no others', async () => {
  assert.deepEqual(await lintTexts(templates, messageNames), []);
  for (const locale of ['en', 'de', 'es', 'fr', 'pt']) {
    const folders = {
      email: readdirSync(join(root, 'templates/emails', locale)),
      sms: readdirSync(join(root, 'templates/sms', locale)),
    };
    const named = (channel: string) => messageNames.filter((name) => messages[name].channel === channel).sort();
    assert.deepEqual(folders.email.sort(), named('email'), locale);
    assert.deepEqual(
      folders.sms.sort(),
      named('sms').map((name) => `${name}.txt`),
      locale,
    );
  }
  assert.deepEqual(await templates.folders('emails'), ['de', 'en', 'es', 'fr', 'pt']);
  assert.deepEqual(await templates.folders('sms'), ['de', 'en', 'es', 'fr', 'pt']);
});

test('mails show the colour of the project, and begin with their first words for lists of mails', async () => {
  const preheaderOf = (html: string) => /mso-hide:all">([^&]*)/.exec(html)?.[1];
  const plain = await texts.compose('email-code', 'en', values);
  assert.match(preheaderOf(plain.html) ?? '', /^This is your code to log in to Shop: 123456 It works once/);
  const { html } = await texts.compose('recovery', 'en', { ...values, color: '#0a7f5a' });
  assert.doesNotMatch(preheaderOf(html) ?? 'https://', /https:/);
  assert.ok((preheaderOf(html) ?? '').length <= 110);
  assert.match(html, /border-top:4px solid #0a7f5a/);
  assert.match(html, /bgcolor="#0a7f5a"[\s\S]*color:#ffffff[^>]*>Set a new password/);
});

test('a file of the installation replaces one of svc, and only that one', async () => {
  put('emails/de/recovery/subject.txt', 'Passwort vergessen, {{name}}?\n');
  const { subject, text, language } = await texts.compose('recovery', 'de', values);
  assert.deepEqual([language, subject], ['de', 'Passwort vergessen, Ada?']);
  assert.match(text, /^Guten Tag Ada,/);
  assert.equal((await texts.compose('recovery', 'en', values)).subject, 'Set a new password');
  put('emails/layout.html', '<html lang="{{lang}}"><title>{{subject}}</title><b>{{project}}</b>{{content}}</html>');
  const { html } = await texts.compose('recovery', 'de', { ...values, project: 'A & B', name: '"Ada"' });
  assert.ok(
    html.startsWith('<html lang="de"><title>Passwort vergessen, &quot;Ada&quot;?</title><b>A &amp; B</b><p'),
    html,
  );
});

for (const [locale, label, words] of [
  ['en', 'Factor', ['authenticator app', 'code by email', 'code by text message', 'recovery codes', 'passkey']],
  ['de-AT', 'Faktor', ['Authenticator-App', 'Code per E-Mail', 'Code per SMS', 'Wiederherstellungscodes', 'Passkey']],
  [
    'es',
    'Factor',
    [
      ...['aplicación de autenticación', 'código por correo electrónico', 'código por SMS'],
      ...['códigos de recuperación', 'llave de acceso'],
    ],
  ],
] as const)
  test(`a second factor is called what people call it, in ${locale}`, async () => {
    for (const message of ['factor-added', 'factor-removed'] as const) {
      for (const [position, factor] of [...secondFactors, 'passkey'].entries()) {
        const { text, html } = await texts.compose(message, locale, { ...values, factor });
        assert.ok(text.includes(`\n${label}: ${words[position]}\n`), text);
        assert.ok(html.includes(`>${words[position]}</td>`), html);
      }
      const { text } = await texts.compose(message, locale, { ...values, factor: '' });
      assert.doesNotMatch(text, /Fa[ck]tor:/);
    }
  });

test('a folder is a language, and one that lacks a file is none for that message', async () => {
  cpSync(join(root, 'templates/emails/en'), join(own, 'emails/it'), { recursive: true });
  put('emails/it/recovery/subject.txt', 'Nuova password\n');
  rmSync(join(own, 'emails/it/magic-link/body.html'));
  const of = async (message: 'recovery' | 'magic-link', locale: string) =>
    (await texts.compose(message, locale, values)).language;
  assert.equal((await texts.compose('recovery', 'it-CH', values)).subject, 'Nuova password');
  assert.deepEqual(
    [await of('recovery', 'IT'), await of('magic-link', 'it'), await of('recovery', 'ita')],
    ['it', 'en', 'en'],
  );
  const found = await lintTexts(templates, messageNames);
  const file = join(own, 'emails/it/magic-link/body.html');
  assert.deepEqual(found, [{ file, line: 1, message: 'the file is missing in it' }]);
  for (const locale of ['../../x', '..', 'en-a', '']) assert.equal(await of('recovery', locale), 'en');
});

const recovery = 'emails/en/recovery';
const table: [string, string, string, number, RegExp][] = [
  [
    'an unknown variable',
    `${recovery}/body.txt`,
    'Hello,\n\n{{link}}\n{{user}}\n',
    4,
    /no variable \{\{user\}\} here; there are: project, name, accent, onAccent, life, link/,
  ],
  ['a link that is missing', `${recovery}/body.html`, '<p>Hello</p>\n', 1, /\{\{link\}\} is missing/],
  [
    'a link in a block only',
    `${recovery}/body.txt`,
    'Hello\n{{#name}}{{link}}{{/name}}\n',
    1,
    /\{\{link\}\} is missing/,
  ],
  ['an empty subject', `${recovery}/subject.txt`, '\n', 1, /empty/],
  ['a subject that may be empty', `${recovery}/subject.txt`, '{{name}}\n', 1, /may be empty/],
  ['a subject of two lines', `${recovery}/subject.txt`, 'One\nTwo\n', 2, /one line/],
  ['a block without an end', `${recovery}/body.txt`, '{{link}}\n{{#name}}\nx\n', 2, /has no end/],
  ['an end without a block', `${recovery}/body.txt`, '{{link}}\n\n{{/name}}\n', 3, /ends nothing/],
  [
    'a block in a block',
    `${recovery}/body.txt`,
    '{{link}}{{#name}}\n{{#life}}x{{/life}}{{/name}}',
    2,
    /stands inside of/,
  ],
  ['braces without a name', `${recovery}/body.txt`, '{{link}}\n{{ name }}\n', 2, /name of a variable/],
  ['a code that is missing', 'sms/es/phone-code.txt', 'Hola {{project}}\n', 1, /\{\{code\}\} is missing/],
  ['a frame around nothing', 'emails/layout.html', '<html></html>\n', 1, /\{\{content\}\} is missing/],
];
for (const [what, path, text, line, words] of table) {
  test(`${what} is found`, async () => {
    put(path, text);
    const found = await lintTexts(templates, messageNames);
    const fault = found.find(({ message }) => words.test(message));
    assert.deepEqual([fault?.file, fault?.line], [join(own, path), line], JSON.stringify(found));
    assert.ok(found.every(({ file }) => file === join(own, path)));
    const message = path.includes('sms') ? 'phone-code' : 'recovery';
    const locale = path.includes('/es/') ? 'es' : 'en';
    faults.length = 0;
    const composed = await texts.compose(message, locale, values);
    assert.match(composed.text, message === 'recovery' ? /^Hello Ada,/ : /^123456 es su código/);
    assert.ok(faults.some((one) => one.file === join(own, path) && one.line === line));
  });
}

test('a running server takes a changed text, and does without a faulty one', async () => {
  const mailServer = await startMailServer();
  const target = await startSending(mailServer, { settings: { SVC_TEMPLATES_DIR: own } });
  put('emails/en/password-changed/subject.txt', 'News of {{project}}\n');
  await send(target);
  assert.equal((await arrived(mailServer, 1)).mail.subject, 'News of Project main');
  put('emails/en/password-changed/subject.txt', 'News of {{projct}}\n');
  await send(target);
  assert.equal((await arrived(mailServer, 2)).mail.subject, 'Your password was changed');
  assert.match(target.log(), /"event":"courier\.template\.faulty","file":"[^"]+subject\.txt","line":1/);
});

test('templates in the data directory count where no other place is named', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-data-'));
  after(() => rmSync(dataDir, { recursive: true, force: true }));
  const file = createTemplates({ dataDir, templatesDir: undefined }).ownPath('sms/en/phone-code.txt');
  assert.equal(file, join(dataDir, 'templates/sms/en/phone-code.txt'));
  assert.ok(!existsSync(file));
});
