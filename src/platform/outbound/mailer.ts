import { readFileSync } from 'node:fs';
import type { Transporter } from 'nodemailer';
import { courierLimits } from '#src/contract/limits.js';
import type { Config } from '../config/schema.js';
import { isMailAddress, parseSender, type Sender } from '../config/sender.js';
import { lazy } from '../runtime/lazy.js';
import { accepted, type SendResult, unanswered } from './send-result.js';

/** A mail to one recipient. */
export interface Mail {
  /** The same for each attempt, so that a recipient can recognise duplicates. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Time of writing, in milliseconds. */
  readonly writtenAt: number;
}

/** Hands mails to the mail server. */
export interface Mailer {
  readonly isConfigured: boolean;
  /** Never rejects: every error is part of the result. */
  send(mail: Mail): Promise<SendResult>;
  /** Connects, logs in if the settings have credentials, and sends nothing. */
  probe(): Promise<SendResult>;
  close(): Promise<void>;
}

/** Milliseconds. */
const timeouts = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 15_000 };
/** Shorter, because a person waits for the result. */
const probeTimeouts = { dnsTimeout: 2000, connectionTimeout: 2000, greetingTimeout: 2000, socketTimeout: 2000 };
const idleMs = 30_000;
/** Statuses about the session, not about the mail: a bad sequence of commands, and a required login (RFC 4954). */
const aboutSession = [503, 530];

/** Sends over SMTP, on a few connections that stay open while there are mails to send. */
export function createMailer({ smtpUrl, mailFrom }: Pick<Config, 'smtpUrl' | 'mailFrom'>): Mailer {
  const from = mailFrom === undefined ? undefined : parseSender(mailFrom);
  const transporter = lazy(async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport(connectionOf(new URL(smtpUrl?.reveal() ?? '')));
  });
  return {
    isConfigured: smtpUrl !== undefined && from !== undefined,
    send: async (mail) => {
      if (smtpUrl === undefined || from === undefined) throw new TypeError('no mail server is configured');
      if (!isMailAddress(mail.to)) return { ...refused('the address is not one'), isFinal: true };
      return hand(transporter.get, from, mail);
    },
    probe: async () => {
      if (smtpUrl === undefined) throw new TypeError('no mail server is configured');
      const { createTransport } = await import('nodemailer');
      const probing = createTransport({ ...connectionOf(new URL(smtpUrl.reveal())), ...probeTimeouts });
      try {
        await probing.verify();
        return accepted('');
      } catch (error) {
        return outcomeOf(error);
      } finally {
        probing.close();
      }
    },
    close: async () => {
      if (transporter.isMade()) (await transporter.get()).close();
    },
  };
}

/**
 * TLS from the first byte or by STARTTLS. Credentials are sent only encrypted, to a server with a valid certificate. Without credentials,
 * encryption without verification is still better than none (RFC 7435).
 */
function connectionOf({ protocol, hostname, port, username, password, searchParams }: URL) {
  const secure = protocol === 'smtps:';
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  const hasCredentials = user !== '';
  const ca = searchParams.get('ca');
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    secure,
    requireTLS: hasCredentials && !secure,
    ...(hasCredentials ? { auth: { user, pass } } : {}),
    tls: {
      rejectUnauthorized: secure || hasCredentials || ca !== null,
      ...(ca === null ? {} : { ca: readFileSync(ca) }),
    },
    pool: true as const,
    maxConnections: courierLimits.atOnce,
    maxRequeues: 1,
    idleTimeout: idleMs,
    ...timeouts,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

async function hand(
  connect: () => Promise<Pick<Transporter, 'sendMail'>>,
  from: Sender,
  mail: Mail,
): Promise<SendResult> {
  const { id, to, subject, text, html, writtenAt } = mail;
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  try {
    const transporter = await connect();
    const { response } = await transporter.sendMail({
      from,
      to: { name: '', address: to },
      subject: subject.replace(/[\s\p{Cc}]+/gu, ' ').trim(),
      text,
      html,
      messageId: `<${id}@${domain}>`,
      date: new Date(writtenAt),
      envelope: { from: from.address, to: [to] },
      // Prevents automatic replies (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: AbortSignal.timeout(courierLimits.timeoutMs),
    });
    return accepted(response ?? '');
  } catch (error) {
    return outcomeOf(error);
  }
}

/**
 * A refusal of the mail or its recipient (5xx) is final. A refusal of the login or the greeting concerns the settings, and may be fixed
 * later.
 */
function outcomeOf(error: unknown): SendResult {
  if (!(error instanceof Error)) return unanswered(error);
  const {
    responseCode: status,
    response = '',
    code,
  } = error as Error & {
    responseCode?: number;
    response?: string;
    code?: string;
  };
  if (status === undefined) return unanswered(error);
  const [, enhanced = ''] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? [];
  const isAboutMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const what = code === 'EAUTH' ? 'the mail server refuses the login' : 'the mail server answered';
  return {
    ...refused(`${what} ${[status, enhanced].filter(Boolean).join(' ')}`),
    isFinal: isAboutMail && status >= 500 && !aboutSession.includes(status),
    answer: response,
  };
}

function refused(error: string): SendResult {
  return { ok: false, isFinal: false, isAnswered: true, error, answer: '' };
}
