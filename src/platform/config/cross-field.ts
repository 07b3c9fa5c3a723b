import { readFileSync } from 'node:fs';
import type { Config } from './schema.js';
import { parseSmsGateway } from './sms-gateway.js';

/** What is wrong between settings each of which is valid by itself. */
export function problemsBetween(values: Partial<Config>): string[] {
  return [...tlsProblems(values), ...mailProblems(values), ...smsProblems(values)];
}

function tlsProblems({ tlsCert, tlsKey }: Partial<Config>): string[] {
  return (tlsCert === undefined) === (tlsKey === undefined) ? [] : ['SVC_TLS_CERT and SVC_TLS_KEY go together'];
}

function mailProblems({ smtpUrl, mailFrom }: Partial<Config>): string[] {
  if (smtpUrl === undefined) return [];
  const problems = mailFrom === undefined ? ['SVC_MAIL_FROM is not set; SVC_SMTP_URL needs it'] : [];
  const ca = new URL(smtpUrl.reveal()).searchParams.get('ca');
  if (ca !== null && !isReadable(ca)) problems.push(`SVC_SMTP_URL names a file that cannot be read: ${ca}`);
  return problems;
}

function smsProblems({ smsUrl, allowInsecure }: Partial<Config>): string[] {
  const gateway = smsUrl === undefined ? undefined : parseSmsGateway(smsUrl.reveal());
  if (gateway === undefined || allowInsecure !== false) return [];
  if (gateway.kind === 'http')
    return gateway.url.startsWith('https:')
      ? []
      : ['SVC_SMS_URL must be https; SVC_WEBHOOK_ALLOW_INSECURE allows http, for development'];
  return gateway.api === null ? [] : ['SVC_SMS_URL takes api= with SVC_WEBHOOK_ALLOW_INSECURE only, for tests'];
}

function isReadable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
