import { courierLimits } from '#src/contract/limits.js';
import type { Config } from '../config/schema.js';
import { basicAuthorization, parseSmsGateway, type SmsGateway } from '../config/sms-gateway.js';
import type { Egress } from './egress.js';
import type { EgressRequest, EgressResponse } from './egress-client.js';
import { accepted, type SendResult, unanswered } from './send-result.js';

/** A text message to one number. */
export interface ShortMessage {
  /** The same for each attempt: a gateway that supports it sends the message once. */
  readonly id: string;
  readonly to: string;
  readonly body: string;
}

/** Hands SMS to the gateway. */
export interface Sms {
  readonly isConfigured: boolean;
  /** Never rejects: every error is part of the result. */
  send(message: ShortMessage): Promise<SendResult>;
}

const twilioApi = 'https://api.twilio.com';
/** Statuses that reject the message or its number; any other error may be temporary. */
const finalStatuses = [400, 413, 422];

/** Creates the client of the configured gateway. */
export function createSms({ smsUrl }: Pick<Config, 'smsUrl'>, egress: Egress): Sms {
  const gateway = smsUrl === undefined ? undefined : parseSmsGateway(smsUrl.reveal());
  return {
    isConfigured: gateway !== undefined,
    send: async (message) => {
      if (gateway === undefined) throw new TypeError('no SMS gateway is configured');
      const call = gateway.kind === 'http' ? plainCall(gateway, message) : twilioCall(gateway, message);
      const { timeoutMs, answerBytes: maxBytes } = courierLimits;
      return egress
        .request({ ...call, method: 'POST', purpose: 'sms', timeoutMs, maxBytes })
        .then(outcomeOf, unanswered);
    },
  };
}

type Sent = Pick<EgressRequest, 'url' | 'headers' | 'body'>;

function plainCall({ url, authorization }: SmsGateway & { kind: 'http' }, { id, to, body }: ShortMessage): Sent {
  const headers = {
    'content-type': 'application/json',
    'idempotency-key': id,
    ...(authorization === null ? {} : { authorization }),
  };
  return { url, headers, body: JSON.stringify({ to, body }) };
}

function twilioCall(gateway: SmsGateway & { kind: 'twilio' }, { to, body }: ShortMessage): Sent {
  const { account, token, from, api } = gateway;
  const sender = from.startsWith('MG') ? 'MessagingServiceSid' : 'From';
  return {
    url: `${api ?? twilioApi}/2010-04-01/Accounts/${encodeURIComponent(account)}/Messages.json`,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basicAuthorization(account, token),
    },
    body: new URLSearchParams({ To: to, [sender]: from, Body: body }).toString(),
  };
}

function outcomeOf({ status, body }: EgressResponse): SendResult {
  const answer = `${status} ${body.toString('utf8').replaceAll(/\p{Cc}+/gu, ' ')}`.trim();
  if (status >= 200 && status < 300) return accepted(answer);
  const error = `the gateway answered ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}`;
  return { ok: false, isFinal: finalStatuses.includes(status), isAnswered: true, error, answer };
}
