import type { Carried } from '#src/platform/carried.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Platform } from '#src/platform/index.js';
import type { Projects } from '../../projects/index.js';
import type { Contents } from '../content.js';
import { type Channel, isMessageName } from '../messages.js';
import type { MessageRow } from '../store.js';
import type { Texts } from '../texts/texts.js';

/** The content is wiped, or of a message that this version does not know. */
const unreadable: Carried = {
  ok: false,
  isFinal: true,
  isAnswered: false,
  error: 'there is nothing to send',
  answer: '',
};

/** Writes messages and hands them to whoever carries their channel. */
export function createCarriers(
  { mailer, sms }: Pick<Platform, 'mailer' | 'sms'>,
  { projects, contents, texts }: { projects: Projects; contents: Contents; texts: Texts },
) {
  const carrierOf = { email: mailer, sms };
  return {
    /** Whether there is anybody to hand messages of a channel to. */
    has: (channel: Channel): boolean => carrierOf[channel].isConfigured,
    carry: async (channel: Channel, row: MessageRow): Promise<Carried> => {
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

/** Those who carry messages. */
export type Carriers = ReturnType<typeof createCarriers>;
