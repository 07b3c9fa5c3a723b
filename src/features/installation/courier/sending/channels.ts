import type { Runtime } from '#src/platform/index.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import type { Projects } from '../../projects/index.js';
import type { Contents } from '../model/content.js';
import { type Channel, isMessageName } from '../model/messages.js';
import type { MessageRow } from '../model/store.js';
import type { Texts } from '../texts/texts.js';

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
}

/** Renders messages and sends them by their channel. */
export function createChannels(
  { mailer, sms }: Pick<Runtime, 'mailer' | 'sms'>,
  { projects, contents, texts }: { projects: Projects; contents: Contents; texts: Texts },
): Channels {
  const senders = { email: mailer, sms };
  return {
    has: (channel) => senders[channel].isConfigured,
    send: async (channel, row) => {
      const project = await projects.current(row.projectId);
      const locals = contents.localsOf(project, row);
      if (locals === undefined || !isMessageName(row.template)) return unreadable;
      const { id, template, locale, createdAt } = row;
      const to = contents.recipientOf(project, row);
      const { subject, text, html } = await texts.compose(template, locale, locals);
      if (channel === 'sms') return sms.send({ id, to, body: text });
      return mailer.send({ id, to, subject, text, html, writtenAt: millisecondsOf(createdAt) });
    },
  };
}
