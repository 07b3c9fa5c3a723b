import type { Runtime } from '#src/platform/index.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { messages } from '../model/messages.js';
import type { Texts } from '../texts/texts.js';

/** Sends a test message without a project, at once and without a row. */
export function createTestMessage(
  { mailer, sms, clock, random, config }: Pick<Runtime, 'mailer' | 'sms' | 'clock' | 'random' | 'config'>,
  texts: Texts,
) {
  return async (message: 'test' | 'phone-test', to: string, locale: string): Promise<SendResult> => {
    const now = clock.now();
    // Uses the host of the installation as the project name.
    const project = new URL(config.baseUrl).hostname;
    const locals = { project, name: '', at: new Date(now).toISOString() };
    const { subject, text, html } = await texts.compose(message, locale, locals);
    const id = random.id();
    if (messages[message].channel === 'sms') return sms.send({ id, to, body: text });
    return mailer.send({ id, to, subject, text, html, writtenAt: now });
  };
}
