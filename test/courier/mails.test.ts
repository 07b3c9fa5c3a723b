// What arrives: through a real mail server, in the language of its reader, and nothing in it that its sender did not write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageNames, messages, sampleVariables } from '#src/features/installation/courier/model/messages.js';
import { factorName } from '#src/features/installation/courier/texts/factor-names.js';
import { aLoggedInUser } from '../harness/actors.js';
import { recordedBy, runSql } from '../harness/database.js';
import { startMailServer } from '../harness/mail-server.js';
import { arrived, messageOf, send, sender, standing, startSending } from './setup.js';

const mailServer = await startMailServer();
const target = await startSending(mailServer);

const changedPassword = [
  {
    locale: null,
    subject: 'Your password was changed',
    words: /^Hello Ada,\n\nThe password of your account at Project main/,
  },
  { locale: 'en-GB', subject: 'Your password was changed', words: /was changed: \d+ \w+ \d{4} at \d\d:\d\d UTC\./ },
  { locale: 'de', subject: 'Ihr Passwort wurde geändert', words: /^Guten Tag Ada,\n\nDas Passwort Ihres Kontos/ },
  { locale: 'de-AT', subject: 'Ihr Passwort wurde geändert', words: /geändert: \d+\. \S+ \d{4} um \d\d:\d\d UTC\./ },
  { locale: 'es-MX', subject: 'Su contraseña ha cambiado', words: /^Hola Ada:\n\nLa contraseña de su cuenta/ },
  { locale: 'fr-CA', subject: 'Votre mot de passe a été modifié', words: /^Bonjour Ada,/ },
  { locale: 'pt', subject: 'A sua palavra-passe foi alterada', words: /^Olá Ada,/ },
  { locale: 'it', subject: 'Your password was changed', words: /^Hello Ada,/ },
];
for (const { locale, subject, words } of changedPassword) {
  test(`the mail about a changed password is in ${locale ?? 'no language'}`, async () => {
    const user = await aLoggedInUser(target, { name: 'Ada' });
    await runSql(target, 'update users set locale = ? where id = ?', [locale, user.id]);
    const count = mailServer.mails.length;
    const body = { password: 'the new password', oldPassword: user.password };
    const { value, recorded } = await recordedBy(target, () => user.client.patch('/account/password', body));
    value.expect(200);
    assert.deepEqual(recorded, { audit: ['accountPasswordChanged'], events: [], messages: ['password-changed'] });
    const { mail, envelope, raw } = await arrived(mailServer, count + 1);
    assert.deepEqual(envelope, { from: sender.address, to: [user.email] });
    assert.deepEqual([mail.from, mail.to], [sender, [{ name: '', address: user.email }]]);
    assert.equal(mail.subject, subject);
    assert.match(mail.text ?? '', words);
    assert.ok(mail.html?.includes(`<html lang="${(locale ?? 'en').slice(0, 2).replace('it', 'en')}">`), mail.html);
    assert.match(raw, /^Auto-Submitted: auto-generated\r$/m);
    assert.match(raw, /^Content-Type: multipart\/alternative;/m);
    assert.doesNotMatch(`${mail.html}`, /<img|src=/);
    const [, id = ''] = /^<(\w+)@shop\.example>$/.exec(mail.messageId ?? '') ?? [];
    const row = await standing(target, id, 'sent');
    assert.deepEqual(
      [row.sealed, row.due_at, row.owner, row.error, Number(row.attempt), row.user_id],
      ['', null, null, '', 1, user.id],
    );
    assert.ok(row.sent_at && row.recipient !== '');
  });
}

test('every mail states its subject in each language, as text and as HTML', async () => {
  for (const message of messageNames.filter((name) => messages[name].channel === 'email')) {
    for (const locale of ['en', 'de', 'es', 'fr', 'pt']) {
      const { variables } = messages[message];
      const values = Object.fromEntries(
        variables.map((name: keyof typeof sampleVariables) => [name, sampleVariables[name]]),
      );
      const count = mailServer.mails.length;
      await send(target, { message, locale, variables: values as never });
      const { mail } = await arrived(mailServer, count + 1);
      const [text, html] = [mail.text ?? '', mail.html ?? ''];
      const what = `${message} ${locale}`;
      assert.doesNotMatch(`${mail.subject}${text}${html}`, /\{\{|\}\}/, what);
      assert.ok(mail.subject && html.includes(`<html lang="${locale}">`), what);
      for (const [name, given] of Object.entries(values)) {
        if (name === 'at') continue;
        const value = name === 'factor' ? factorName(given, locale) : given;
        assert.ok(text.includes(value), `${what}: ${name} in the text`);
        assert.ok(html.includes(value.replaceAll('&', '&amp;')), `${what}: ${name} in the HTML`);
      }
    }
  }
});

test('an absent phrase leaves no trace', async () => {
  const count = mailServer.mails.length;
  await send(target, { message: 'email-code', name: '', variables: { code: '271828', phrase: '' } as never });
  const { mail } = await arrived(mailServer, count + 1);
  assert.match(mail.text ?? '', /^Hello,\n\n.*\n\n271828\n\nIt works once, for 10 minutes\. /);
  assert.doesNotMatch(`${mail.text}${mail.html}`, /phrase/i);
});

test('a user-chosen name cannot inject mail content', async () => {
  const evil = 'Ada\r\nBcc: all@example.com\r\n\r\n<script>alert(1)</script> https://evil.example/win now';
  const count = mailServer.mails.length;
  const variables = { team: evil, inviter: '"><a href=//evil.example>', link: 'https://app.example.com/?a=1&b="2"' };
  await send(target, { message: 'invitation', to: 'victim@example.com', name: evil, variables: variables as never });
  const { mail, envelope, raw } = await arrived(mailServer, count + 1);
  assert.deepEqual(envelope.to, ['victim@example.com']);
  const [head = ''] = raw.split('\r\n\r\n');
  assert.doesNotMatch(head, /^(bcc|cc):/im);
  assert.doesNotMatch(mail.html ?? '', /<script|href=\/\/evil|href="[^"]*evil/);
  assert.ok(mail.html?.includes('href="https://app.example.com/?a=1&amp;b=&quot;2&quot;"'));
  for (const text of [mail.subject, mail.text, mail.html])
    assert.doesNotMatch(text ?? '', /evil\.example|https?:\/\/evil/);
});

test('an address that is none is refused here, at once', async () => {
  const count = mailServer.attempts;
  for (const to of ['a@b.example, c@d.example', 'a@b.example\r\nRCPT TO:<c@d.example>', '<a@b.example>', 'nobody']) {
    const row = await standing(target, await send(target, { to }), 'failed');
    assert.equal(row.error, 'the address is not one');
  }
  assert.equal(mailServer.attempts, count);
});

test('messages of a unit that was rolled back are never sent', async () => {
  const { runtime, features } = target.appliance;
  const count = mailServer.mails.length;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const letter = { message: 'account-exists', to: 'x@example.com', userId: null, name: '', locale: null } as const;
  await assert.rejects(
    runtime.db.work(by, async (unit) => {
      features.courier.send(unit, target.project, { ...letter, variables: {} });
      throw new Error('no');
    }),
  );
  const id = await send(target);
  await arrived(mailServer, count + 1);
  assert.equal((await messageOf(target, id)).template, 'password-changed');
});
