import type { Runtime } from '#src/platform/index.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { instantOf, millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../../projects/index.js';
import type { Contents } from '../model/content.js';
import { type Channel, isMessageName, messages } from '../model/messages.js';
import type { MessageRow } from '../model/store.js';
import type { Composed, Texts } from '../texts/texts.js';

/** Result for a message that is wiped or unknown to this version. */
const unreadable: SendResult = {
  ok: false,
  isFinal: true,
  isAnswered: false,
  error: 'there is nothing to send',
  answer: '',
};

/** Channels that render and send messages. */
export interface Channels {
  /** True if a channel is configured. */
  has(channel: Channel): boolean;
  send(channel: Channel, row: MessageRow): Promise<SendResult>;
  /** Sends a test message without a project, at once and without a row. */
  test(message: 'test' | 'phone-test', to: string, locale: string): Promise<SendResult>;
}

/** Renders messages and sends them by their channel. */
export function createChannels(
  { mailer, sms, clock, random, config }: Pick<Runtime, 'mailer' | 'sms' | 'clock' | 'random' | 'config'>,
  { projects, contents, texts }: { projects: Projects; contents: Contents; texts: Texts },
): Channels {
  const senders = { email: mailer, sms };
  const post = (channel: Channel, id: string, to: string, composed: Composed, writtenAt: number) => {
    const { subject, text, html } = composed;
    return channel === 'sms'
      ? sms.send({ id, to, body: text })
      : mailer.send({ id, to, subject, text, html, writtenAt });
  };
  return {
    has: (channel) => senders[channel].isConfigured,
    send: async (channel, row) => {
      const project = await projects.current(row.projectId);
      const locals = contents.localsOf(project, row);
      if (locals === undefined || !isMessageName(row.template)) return unreadable;
      const { id, template, locale, createdAt } = row;
      const to = contents.recipientOf(project, row);
      return post(channel, id, to, await texts.compose(template, locale, locals), millisecondsOf(createdAt));
    },
    test: async (message, to, locale) => {
      const now = clock.now();
      // Uses the host of the installation as the project name.
      const locals = { project: new URL(config.baseUrl).hostname, name: '', at: instantOf(now) };
      return post(messages[message].channel, random.id(), to, await texts.compose(message, locale, locals), now);
    },
  };
}
