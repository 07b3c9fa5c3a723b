import { z } from 'zod';
import type { Appliance } from '#src/appliance.js';
import { emailAddress } from '#src/contract/email-address.js';
import { phoneNumber } from '#src/contract/shapes.js';
import type { SendResult } from '#src/platform/outbound/send-result.js';
import { type CommandResult, command, type ParsedArgs } from '../line/command.js';
import { valid } from '../line/input.js';
import { failedError, unreachableError, unusableError } from '../terminal/exit.js';
import { pairs } from '../terminal/table.js';

/** The flag that selects a language. */
export const localeOption = {
  flag: '--locale',
  value: 'TAG',
  summary: 'language of the message, such as de or de-AT (default: en)',
} as const;

const languageTag = z
  .string()
  .regex(/^[a-z]{2,3}(-[a-z0-9]{1,8}){0,4}$/i, 'must be a language tag such as de or de-AT');

/** The requested language. */
export function localeOf(args: ParsedArgs): string {
  return valid(languageTag, '--locale', args.text('--locale') ?? 'en');
}

const channels = {
  mail: { message: 'test', carrier: 'mailer', side: 'mail server', fix: 'set SVC_SMTP_URL and SVC_MAIL_FROM' },
  sms: { message: 'phone-test', carrier: 'sms', side: 'SMS gateway', fix: 'set SVC_SMS_URL' },
} as const;

/** `svc mail test` */
export const mailTest = command({
  path: 'mail test',
  summary: 'Sends a test mail at once. Exit code 1 if the mail server refuses it, 6 if the server cannot be reached',
  options: [{ flag: '--to', value: 'ADDRESS', summary: 'the recipient', required: true }, localeOption],
  examples: [
    'svc mail test --to ada@example.com || echo "is SVC_SMTP_URL right?"',
    'svc mail test --to ada@example.com --locale de || echo "is SVC_SMTP_URL right?"',
  ],
  run: async ({ args, appliance }) =>
    sendTest(appliance, 'mail', valid(emailAddress, '--to', args.required('--to')), localeOf(args)),
});

/** `svc sms test` */
export const smsTest = command({
  path: 'sms test',
  summary: 'Sends a test SMS at once. Exit code 1 if the gateway refuses it, 6 if the gateway cannot be reached',
  options: [
    { flag: '--to', value: 'NUMBER', summary: 'the recipient, such as +14155550123', required: true },
    localeOption,
  ],
  examples: [
    'svc sms test --to +14155550123 || echo "is SVC_SMS_URL right?"',
    'svc sms test --to +14155550123 --locale es || echo "is SVC_SMS_URL right?"',
  ],
  run: async ({ args, appliance }) =>
    sendTest(appliance, 'sms', valid(phoneNumber, '--to', args.required('--to')), localeOf(args)),
});

/** Sends a test message. Throws CommandError with the server's answer if it was not accepted. */
async function sendTest(
  { runtime, features }: Appliance,
  channel: keyof typeof channels,
  to: string,
  locale: string,
): Promise<CommandResult> {
  const { message, carrier, side, fix } = channels[channel];
  if (!runtime[carrier].isConfigured)
    throw unusableError(`${channel}_not_configured`, `No ${side} is configured.`, fix);
  const result = await features.courier.test(message, to, locale);
  const { ok, isAnswered, error, answer } = result;
  if (ok) {
    const rows = [
      ['accepted', 'yes'],
      ['to', to],
      ['answer', answer],
    ] as const;
    return { value: { ok, to, answer }, text: pairs(rows) };
  }
  const next = (channel === 'mail' ? nextOfMail(result) : undefined) ?? 'check the settings with svc config show';
  if (!isAnswered) throw unreachableError(`${channel}_unreachable`, `The ${side} cannot be used: ${error}.`, next);
  const words = error.charAt(0).toUpperCase() + error.slice(1);
  throw failedError(`${channel}_refused`, answer === '' ? `${words}.` : `${words}: ${answer}`, next);
}

/** Suggests a fix for a rejected mail; undefined if the result does not indicate one. */
function nextOfMail({ isAnswered, isFinal, error }: SendResult): string | undefined {
  if (!isAnswered && /refused/.test(error))
    return 'look whether the mail server runs, and whether SVC_SMTP_URL has its host and port';
  if (isFinal)
    return 'look at the rules of the mail server for the sender in SVC_MAIL_FROM, the recipient and relaying; a mail that is refused like this is not tried again';
  if (/answered 4\d\d/.test(error))
    return 'wait, as mails that are refused for now are tried again; its answer says why';
  return undefined;
}
