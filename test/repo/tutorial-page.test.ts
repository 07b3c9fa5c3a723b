// docs/tutorial.md from its first block to its last, in one installation; the app runs in Chromium where there is one.
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openChromium } from '../harness/browser.js';
import { type Installation, install } from '../harness/cli.js';
import { provideCurl } from '../harness/curl.js';
import { freePort } from '../harness/free-port.js';
import { pidIn } from '../harness/pid-file.js';
import { blockNoted, readBlocks } from '../harness/readme.js';
import { after } from '../harness/runner.js';
import { serve, typeInto } from '../harness/terminal.js';

const page = 'docs/tutorial.md';
const changes = 'not run: changes the machine';
const [served, app, receiver] = [
  'runs until stopped',
  'runs until stopped: the app',
  'runs until stopped: the receiver',
];
const saved = 'saved as notes.html';

let place: Installation;
const ports = { '8080': '', '3000': '', '9000': '' };
before(async () => {
  place = await install({ init: false });
  provideCurl(join(place.dir, 'bin'));
  for (const port of ['8080', '3000', '9000'] as const) ports[port] = String(await freePort());
});
after(() => place.dispose());

/** A text of the page, with ports that are free here. */
const here = (text: string) =>
  text
    .replaceAll('localhost:8080', `localhost:${ports[8080]}`)
    .replaceAll('listen(3000)', `listen(${ports[3000]})`)
    .replaceAll('localhost:9000', `localhost:${ports[9000]}`)
    .replaceAll('webhook listen', `webhook listen --port ${ports[9000]}`);

/** A new terminal in the directory of the tutorial. The environment names the port alone: the rest is as the page says. */
const terminal = () => {
  const { SVC_DATA_DIR: _, SVC_HOST: __, ...env } = place.env;
  return { cwd: join(place.dir, 'notes'), env: { ...env, SVC_PORT: ports[8080] } };
};

/** A block that goes on, in a terminal of its own, once the command that waits for it succeeds. */
function beside(note: string, file: string, isThere: string): string {
  const text = here(blockNoted(page, note).text);
  return `(\nset -m\nbash -c ${quoted(text)} < /dev/null > ${file} 2>&1 &\necho $! > ${file}.pid\n)\nuntil ${isThere}; do kill -0 $(cat ${file}.pid) || { cat ${file}; exit 1; }; sleep 0.1; done\n`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

test('every block is run, or says why not', () => {
  const notes = ['', changes, served, app, receiver, saved];
  for (const { note } of readBlocks(page)) assert.ok(notes.includes(note), note);
});

test('the tutorial works in one sitting', async (t) => {
  const blocks = readBlocks(page);
  const first = blocks.findIndex(({ note }) => note === served);
  const typed = ({ note, text }: { note: string; text: string }) => {
    if (note === '') return here(text);
    if (note === app) return beside(app, 'app.log', `curl -sS -o page.html http://localhost:${ports[3000]}/`);
    return note === receiver ? beside(receiver, 'receiver.log', 'grep -q Receiving receiver.log') : '';
  };
  const begin = await typeInto(blocks.slice(0, first).map(typed).join('\n'), { ...terminal(), cwd: place.dir });
  assert.equal(begin.status, 0, begin.stderr);
  const { cwd } = terminal();
  after(() => {
    for (const name of ['app.log', 'receiver.log']) process.kill(-pidIn(join(cwd, `${name}.pid`)));
  });
  const server = await serve(blockNoted(page, served).text, terminal());
  writeFileSync(join(cwd, 'notes.html'), here(blockNoted(page, saved).text));

  await t.test('the commands', async () => {
    const { status, stdout, stderr } = await typeInto(blocks.slice(first).map(typed).join('\n'), terminal());
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.doesNotMatch(stdout, /"type":"(?!document)/, 'a call was refused');
    for (const expected of [
      ...['anna@example.com', '"text":"Water the plants"', '"total":0,"documents":[]', 'notes.example.com'],
      ...['"text":"Call Ben"', 'The file came back unchanged.'],
    ])
      assert.ok(stdout.includes(expected), `${expected} is not in:\n${stdout}`);
    const heard = () => readFileSync(join(cwd, 'receiver.log'), 'utf8');
    for (let tries = 0; tries < 200 && heard().split('documentCreated').length < 3; tries++) await sleep(50);
    assert.equal(heard().match(/documentCreated +\S+ +signed +204$/gm)?.length, 2, heard());
    assert.equal(statSync(join(cwd, 'notes.tar')).mode & 0o077, 0, 'the backup is for the owner only');
    assert.equal(readFileSync(join(cwd, 'copy.txt'), 'utf8'), 'bread, apples, soap\n');
    assert.match(stdout, /notes\.tar is whole: \d+ rows, 1 file, /);
  });

  await t.test('the app', async (one) => {
    const browser = await openChromium(one);
    if (browser === undefined) return;
    try {
      const tab = await browser.newPage();
      await tab.goto(`http://localhost:${ports[3000]}/`);
      await tab.waitForURL('**/auth/sign-in?**');
      await tab.fill('[name=email]', 'anna@example.com');
      await tab.fill('[name=password]', 'tall-green-bicycle');
      await tab.click('button.main');
      await tab.waitForSelector('text=Water the plants');
      await tab.fill('[name=text]', 'Buy a bell');
      await tab.click('button');
      await tab.waitForSelector('text=Buy a bell');
      await tab.click('text=Sign out');
      await tab.click('button.main');
      await tab.waitForURL('**/auth/sign-in?**');
      await tab.click('a[href^="sign-up"]');
      await tab.fill('[name=name]', 'Ben');
      await tab.fill('[name=email]', 'ben@example.com');
      await tab.fill('[name=password]', 'quiet-river-stone');
      await tab.click('button.main');
      await tab.fill('[name=text]', 'A note of Ben');
      await tab.click('button');
      await tab.waitForSelector('text=A note of Ben');
      assert.equal(await tab.locator('li').count(), 1, 'nobody sees the notes of others');
    } finally {
      await browser.close();
    }
  });

  await t.test('the backup is restored after the data was lost', async () => {
    assert.equal(await server.stop(), 0);
    const restore = await typeInto('rm -r svc-data && svc backup restore notes.tar', terminal());
    assert.equal(restore.status, 0, restore.stderr);
    const again = await serve('svc serve', terminal());
    const response = await fetch(`http://localhost:${ports[8080]}/v1/account/sessions/email`, {
      method: 'POST',
      headers: { 'X-Service-Project': 'notes', 'Content-Type': 'application/json' },
      body: JSON.stringify({ email: 'anna@example.com', password: 'tall-green-bicycle' }),
    });
    assert.equal(response.status, 201);
    assert.equal(await again.stop(), 0);
  });
});
