// Logins and encryption towards the mail server: credentials go to the right server, encrypted, or nowhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTrust, startMailServer } from '../harness/mail-server.js';
import { arrived, send, smtpSettings, standing, startSending, sweep } from './setup.js';

const trust = createTrust();
const other = createTrust();
const login = { user: 'shop@example.com', password: 'p@ss:w/ord' };
const given = `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
const trusted = `?ca=${trust.file}`;

const good = [
  { what: 'STARTTLS and a login', server: { tls: 'offered', login }, scheme: 'smtp', given, query: trusted },
  {
    what: 'TLS from the first byte and a login',
    server: { tls: 'immediate', login },
    scheme: 'smtps',
    given,
    query: trusted,
  },
  {
    what: 'STARTTLS where it is offered, without a login',
    server: { tls: 'offered' },
    scheme: 'smtp',
    given: '',
    query: '',
  },
] as const;
for (const { what, server, scheme, given: credentials, query } of good) {
  test(`mail goes by ${what}`, async () => {
    const mailServer = await startMailServer(server, trust);
    const target = await startSending(mailServer, { settings: smtpSettings(mailServer, scheme, credentials, query) });
    await send(target);
    const mail = await arrived(mailServer, 1);
    assert.deepEqual([mail.isEncrypted, mail.user], [true, credentials === '' ? '' : login.user]);
  });
}

const bad = [
  ...[
    {
      what: 'a server without STARTTLS',
      server: { login },
      scheme: 'smtp',
      error: /TLS failed|^the mail server answered 5/,
    },
  ],
  ...[
    {
      what: 'a certificate of somebody else',
      server: { tls: 'offered', login },
      scheme: 'smtp',
      ca: other.file,
      error: /TLS failed/,
    },
  ],
  ...[
    {
      what: 'somebody else from the first byte',
      server: { tls: 'immediate', login },
      scheme: 'smtps',
      ca: other.file,
      error: /TLS failed/,
    },
  ],
] as const;
for (const { what, server, scheme, error, ...more } of bad) {
  test(`no credentials go to ${what}`, async () => {
    const mailServer = await startMailServer(server, trust);
    const query = `?ca=${'ca' in more ? more.ca : trust.file}`;
    const target = await startSending(mailServer, { settings: smtpSettings(mailServer, scheme, given, query) });
    const id = await send(target);
    await sweep(target);
    const row = await standing(target, id, 'retrying');
    assert.match(String(row.error), error);
    assert.deepEqual([mailServer.mails.length, mailServer.attempts], [0, 0]);
  });
}

test('a login that is refused is about the settings: the mail waits for them', async () => {
  const mailServer = await startMailServer({ tls: 'offered', login }, trust);
  const wrong = smtpSettings(mailServer, 'smtp', 'shop:wrong@', trusted);
  const target = await startSending(mailServer, { settings: wrong });
  const id = await send(target);
  await sweep(target);
  const row = await standing(target, id, 'retrying');
  assert.equal(row.error, 'the mail server refuses the login 535 5.7.8');
  assert.doesNotMatch(target.log(), /wrong|shop@|who are you/);
});
