// What of the hosted pages is the project's own: name, colour, logo, a sentence and links; and that none of it can do harm.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contrastOf, paletteOf } from '#src/platform/templates/palette.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';
import { recordedBy, rowsOf } from '../harness/database.js';
import { lastMessageTo } from '../harness/messages.js';
import { changeSettings } from '../harness/project.js';
import { createPlainBrowser } from './browser.js';

const target = await startAppliance();
const { runtime, features } = target.appliance;
const guest = createClient(target, { project: null });
const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('what follows')]);

const setLogo = (content: Buffer) => runtime.db.work(by, (unit) => features.logos.set(unit, target.project, content));
/** Changes settings and waits until requests see it. */
async function set(settings: Parameters<typeof changeSettings>[1]) {
  await changeSettings(target, settings);
  target.clock.advance(1000);
}
async function shown(name = 'sign-in', language = 'en') {
  const browser = createPlainBrowser(target, { 'Accept-Language': language });
  await browser.open(`/v1/auth/${name}?project=main`);
  return browser;
}

test('name, sentence and links stand on the pages, in the language of the browser', async () => {
  await set({
    'pages.name': 'Fruit & Sons',
    'pages.intro': 'Fresh every day.',
    'pages.intro.de': 'Jeden Tag frisch.',
    'pages.terms': 'https://fruit.example/{language}/terms?a=1&b=2',
    'pages.privacy': 'https://fruit.example/privacy',
  });
  const english = (await shown()).html;
  assert.match(english, /<title>Sign in · Fruit &amp; Sons<\/title>/);
  assert.match(english, /<p class="intro">Fresh every day\.<\/p>/);
  assert.match(english, /<a href="https:\/\/fruit\.example\/en\/terms\?a=1&amp;b=2">Terms of service<\/a>/);
  assert.match(english, /<a href="https:\/\/fruit\.example\/privacy">Privacy policy<\/a>/);
  const german = (await shown('sign-in', 'de')).html;
  assert.match(german, /Jeden Tag frisch[\s\S]*\/de\/terms[\s\S]*Nutzungsbedingungen/);
  assert.match((await shown('sign-in', 'es')).html, /Fresh every day/);
  assert.doesNotMatch((await shown('recovery')).html, /Fresh every day/);
});

const hostile: [Record<string, unknown>, RegExp | 'refused'][] = [
  [{ 'pages.name': '"><script>alert(1)</script>' }, /&quot;&gt;&lt;script&gt;/],
  [{ 'pages.name': '</title></style>{{nonce}}' }, /&lt;\/title&gt;&lt;\/style&gt;\{\{nonce\}\}/],
  [{ 'pages.name': 'a\u202eb' }, 'refused'],
  [{ 'pages.name': 'a\nb' }, 'refused'],
  [{ 'pages.name': ' ' }, 'refused'],
  [{ 'pages.name': 'x'.repeat(129) }, 'refused'],
  [{ 'pages.intro': '<img src=x onerror=alert(1)>' }, /&lt;img src=x/],
  [{ 'pages.intro': 'x'.repeat(301) }, 'refused'],
  [{ 'pages.intro.es': '\u0007' }, 'refused'],
  [{ 'pages.color': 'red' }, 'refused'],
  [{ 'pages.color': '#fff' }, 'refused'],
  [{ 'pages.color': '#ffffff; } body { display: none' }, 'refused'],
  [{ 'pages.color': 'url(https://evil.example)' }, 'refused'],
  [{ 'pages.terms': 'javascript:alert(1)' }, 'refused'],
  [{ 'pages.terms': 'http://fruit.example/' }, 'refused'],
  [{ 'pages.terms': 'https://user:password@fruit.example/' }, 'refused'],
  [{ 'pages.terms': 'https://fruit.example/ x' }, 'refused'],
  [{ 'pages.terms': 'https://{language}.fruit.example/' }, /href="https:\/\/en\.fruit\.example\/"/],
  [{ 'pages.privacy': 'data:text/html,x' }, 'refused'],
  [
    { 'pages.privacy': 'https://fruit.example/"onclick="alert(1)' },
    /href="https:\/\/fruit\.example\/%22onclick=%22alert\(1\)"/,
  ],
];
for (const [settings, outcome] of hostile) {
  test(`${JSON.stringify(settings).slice(0, 70)} does no harm`, async () => {
    if (outcome === 'refused') {
      await assert.rejects(set(settings), { type: 'general_argument_invalid' });
      return;
    }
    await set(settings);
    const { html, headers } = await shown();
    const [, nonce = 'none'] =
      /script-src 'nonce-([\w-]{22})'/.exec(headers.get('Content-Security-Policy') ?? '') ?? [];
    assert.match(html, outcome);
    assert.doesNotMatch(html.replaceAll(` nonce="${nonce}"`, ' own'), /<(script|style)(?! own>)|<img|<\/style>{{/);
    await set(Object.fromEntries(Object.keys(settings).map((key) => [key, null])));
  });
}

test('any colour gives text that can be read, and the button has it as it is', async () => {
  const steps = ['00', '33', '66', '99', 'cc', 'ff'];
  for (const red of steps)
    for (const green of steps)
      for (const blue of steps) {
        const color = `#${red}${green}${blue}`;
        const { light, dark } = paletteOf(color);
        for (const [accent, card] of [
          [light, '#ffffff'],
          [dark, '#1e2228'],
        ] as const) {
          assert.equal(accent.fill, color);
          assert.ok(contrastOf(accent.text, card) >= 4.5, `${color} on ${card}: ${accent.text}`);
          assert.ok(contrastOf(accent.fill, accent.onFill) >= 4.5, `${accent.onFill} on ${color}`);
        }
      }
  assert.equal(paletteOf('#0A7F5A').light.fill, '#0a7f5a');
  await set({ 'pages.color': '#ffe600' });
  assert.match((await shown()).html, /--fill: #ffe600; --on-fill: #000000;/);
  await set({ 'pages.color': null });
});

test('a logo stands on every page, under an address that changes with it', async () => {
  (await guest.get('/auth/logo?project=main')).refused(404, 'project_logo_not_found');
  const { recorded } = await recordedBy(target, () => setLogo(png));
  assert.deepEqual(recorded, { audit: ['projectUpdated'], events: [], messages: [] });
  const addressIn = (html: string) => /<img class="logo" src="(logo\?[^"]*)" alt="">/.exec(html)?.[1] ?? 'none';
  const { html, headers } = await shown('recovery');
  assert.match(headers.get('Content-Security-Policy') ?? '', /img-src 'self'/);
  const address = addressIn(html).replace('&amp;', '&');
  const image = (await guest.get(`/auth/${address}`)).expect(200);
  assert.equal(image.text, png.toString());
  assert.deepEqual(
    ['Content-Type', 'Content-Length', 'Cache-Control', 'X-Content-Type-Options'].map((name) =>
      image.headers.get(name),
    ),
    ['image/png', String(png.length), 'public, max-age=86400', 'nosniff'],
  );
  assert.match(image.headers.get('Content-Security-Policy') ?? '', /^default-src 'none'/);
  assert.equal(
    (await guest.request('HEAD', `/auth/${address}`)).expect(200).headers.get('Content-Length'),
    String(png.length),
  );
  await setLogo(Buffer.concat([png, Buffer.from('!')]));
  assert.notEqual(addressIn((await shown()).html), addressIn(html));
  assert.equal(addressIn((await shown('sign-in')).html).includes('<'), false);
  await runtime.db.work(by, (unit) => features.logos.remove(unit, target.project));
  assert.doesNotMatch((await shown()).html, /<img/);
  assert.deepEqual(
    (await recordedBy(target, () => runtime.db.work(by, (unit) => features.logos.remove(unit, target.project))))
      .recorded.audit,
    [],
  );
  (await guest.get('/auth/logo?project=nothing')).refused(404, 'project_not_found');
});

test('only images are logos, and only small ones', async () => {
  const jpeg = Buffer.from('ffd8ffe000104a464946', 'hex');
  const webp = Buffer.from('524946461a00000057454250', 'hex');
  for (const [content, type] of [
    [jpeg, 'image/jpeg'],
    [webp, 'image/webp'],
  ] as const) {
    await setLogo(content);
    assert.equal((await guest.get('/auth/logo?project=main')).expect(200).headers.get('Content-Type'), type);
  }
  for (const content of [
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '<!doctype html><script>alert(1)</script>',
    'GIF89a',
    '',
    'RIFF1234WAVE',
  ])
    await assert.rejects(setLogo(Buffer.from(content)), { type: 'general_argument_invalid' });
  await setLogo(Buffer.concat([png, Buffer.alloc(32_768 - png.length)]));
  await assert.rejects(setLogo(Buffer.concat([png, Buffer.alloc(32_769 - png.length)])), {
    type: 'general_argument_invalid',
  });
});

test('the logo goes with its project', async () => {
  const project = await runtime.db.work({ ...by, projectId: 'fleeting' }, (unit) =>
    features.projects.create(unit, { id: 'fleeting', name: 'Fleeting' }),
  );
  await runtime.db.work({ ...by, projectId: project.id }, (unit) => features.logos.set(unit, project, png));
  (await guest.get('/auth/logo?project=fleeting')).expect(200);
  assert.equal((await rowsOf(target, 'project_logos', project.id)).length, 1);
  await features.projects.remove({ ...by, projectId: project.id }, project.id);
  (await guest.get('/auth/logo?project=fleeting')).refused(404, 'project_not_found');
  assert.deepEqual(await rowsOf(target, 'project_logos', project.id), []);
});

test('mails have the name of the pages too', async () => {
  await changeSettings(target, { 'pages.name': 'Shop of Anna' });
  const app = createClient(target);
  (await app.post('/account/tokens/email', { userId: 'unique()', email: 'named@mail.example' })).expect(201);
  assert.equal((await lastMessageTo(target, 'named@mail.example')).locals.project, 'Shop of Anna');
  await changeSettings(target, { 'pages.name': null });
});
