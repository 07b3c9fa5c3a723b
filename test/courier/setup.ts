// Messages for tests: a server that sends through a mail server of this machine, letters to be sent, and what became of them.
import assert from 'node:assert/strict';
import type { Courier } from '#src/features/installation/courier/index.js';
import { type ApplianceOptions, startAppliance, type TestAppliance } from '../harness/appliance.js';
import { rowsOf } from '../harness/database.js';
import type { MailServer, ReceivedMail } from '../harness/mail-server.js';
import { eventually } from '../webhooks/setup.js';

type Letter = Parameters<Courier['send']>[2];
type Row = Record<string, unknown>;

/** Who the mails of the tests come from. */
export const sender = { name: 'The Shop', address: 'no-reply@shop.example' };

/** The settings of a server that sends through a mail server. */
export function smtpSettings({ port }: Pick<MailServer, 'port'>, scheme = 'smtp', login = '', query = '') {
  return {
    SVC_SMTP_URL: `${scheme}://${login}localhost:${port}${query}`,
    SVC_MAIL_FROM: `${sender.name} <${sender.address}>`,
  };
}

/** A server that sends mails. */
export function startSending(mailServer: MailServer, options: ApplianceOptions = {}): Promise<TestAppliance> {
  return startAppliance({ ...options, settings: { ...smtpSettings(mailServer), ...options.settings } });
}

let letters = 0;

/** Leaves a message as a feature does; returns the id of its row. */
export async function send(target: TestAppliance, given: Partial<Letter> = {}): Promise<string> {
  const { runtime, features } = target.appliance;
  letters += 1;
  const letter = {
    ...{ message: 'password-changed', to: `person-${letters}@example.com`, userId: null, name: 'Ada', locale: null },
    ...{ variables: { at: '2026-01-31T12:00:00.000Z' }, ...given },
  } as Letter;
  const by = { projectId: target.project.id, actor: { kind: 'operator', id: 'harness' }, requestId: 'harness' };
  const before = new Set((await messagesOf(target)).map(({ id }) => id));
  await runtime.db.work(by, async (unit) => features.courier.send(unit, target.project, letter));
  const [made] = (await messagesOf(target)).filter(({ id }) => !before.has(id));
  assert.ok(made);
  return String(made.id);
}

/** Every message of the test's project. */
export function messagesOf(target: TestAppliance): Promise<Row[]> {
  return rowsOf(target, 'messages', target.project.id);
}

/** How a message stands. */
export async function messageOf(target: TestAppliance, id: string): Promise<Row> {
  const found = (await messagesOf(target)).find((row) => row.id === id);
  assert.ok(found, id);
  return found;
}

/** Waits until a message stands so. */
export function standing(target: TestAppliance, id: string, state: string): Promise<Row> {
  return eventually(async () => {
    const row = await messageOf(target, id);
    assert.equal(row.state, state, JSON.stringify(row));
    return row;
  });
}

/** Runs the job that sends what is due, to its end. */
export async function sweep({ appliance }: TestAppliance): Promise<void> {
  const done = await appliance.features.jobs.run('courier.send');
  assert.equal(done?.outcome, 'ok', JSON.stringify(done));
}

/** Waits until a mail server has so many mails, and gives the newest. */
export async function arrived({ mails }: MailServer, count: number): Promise<ReceivedMail> {
  await eventually(() => assert.equal(mails.length, count));
  const last = mails.at(-1);
  assert.ok(last);
  return last;
}

/** The value of a measurement; 0 where there is none yet. */
export async function sample({ appliance }: TestAppliance, name: string): Promise<number> {
  const text = await appliance.runtime.metrics.render();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}
