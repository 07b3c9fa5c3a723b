import { millisecondsOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import type { SendResult } from '#src/platform/send-result.js';
import type { Projects } from '../../projects/index.js';
import type { Contents } from '../content.js';
import { type Channel, isMessageName } from '../messages.js';
import type { MessageRow } from '../store.js';
import type { Texts } from '../texts/texts.js';

/** The content is wiped, or of a message that this version does not know. */
const unreadable: SendResult = {
  ok: false,
  isFinal: true,
  isAnswered: false,
  error: 'there is nothing to send',
  answer: '',
};

/** Renders messages and sends them by their channel. */
export function createChannels(
  { mailer, sms }: Pick<Runtime, 'mailer' | 'sms'>,
  { projects, contents, texts }: { projects: Projects; contents: Contents; texts: Texts },
) {
  const senders = { email: mailer, sms };
  return {
    /** Whether a channel is configured. */
    has: (channel: Channel): boolean => senders[channel].isConfigured,
    send: async (channel: Channel, row: MessageRow): Promise<SendResult> => {
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

/** The channels by which messages are sent. */
export type Channels = ReturnType<typeof createChannels>;
