import { createHmac } from 'node:crypto';
import { invalidParam } from '#src/contract/errors.js';
import { deliveryHeaders } from '#src/contract/headers.js';
import type { Random } from '#src/platform/crypto/random.js';

/** Prefix of signing secrets. */
export const secretPrefix = 'whsec_';
/** Length of keys in bytes: of new ones, and the range allowed by Standard Webhooks. */
export const keyBytes = { fresh: 32, min: 24, max: 64 } as const;

/** Signed data: the event, the webhook, and the exact bytes of the body. */
interface Signed {
  readonly eventId: string;
  readonly event: string;
  readonly webhookId: string;
  readonly body: Buffer;
  readonly seconds: number;
}

/** A new signing secret in the format of Standard Webhooks: a prefix and 32 random bytes in base64. */
export function newSecret(random: Random): string {
  return secretPrefix + random.bytes(keyBytes.fresh).toString('base64');
}

/** Throws Failure unless the text is a signing secret: the prefix and 24 to 64 bytes in standard base64. */
export function requireSecret(text: string): void {
  const key = Buffer.from(text.slice(secretPrefix.length), 'base64');
  const isExact = text === secretPrefix + key.toString('base64');
  if (isExact && key.length >= keyBytes.min && key.length <= keyBytes.max) return;
  throw invalidParam(
    'secret',
    `give ${secretPrefix} and the standard base64 of ${keyBytes.min} to ${keyBytes.max} bytes, or nothing for a new one.`,
  );
}

/**
 * Headers that identify and sign a delivery. `X-Service-Signature` uses the first secret; `webhook-signature` (Standard Webhooks) has a
 * signature for each.
 */
export function signatureHeaders(signed: Signed, secrets: readonly [string, ...string[]]): Record<string, string> {
  const { eventId, event, webhookId, body, seconds } = signed;
  const content = Buffer.concat([Buffer.from(`${eventId}.${seconds}.`), body]);
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  });
  return {
    [deliveryHeaders.event]: event,
    [deliveryHeaders.webhookId]: webhookId,
    [deliveryHeaders.signature]: createHmac('sha256', secrets[0]).update(body).digest('hex'),
    'webhook-id': eventId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': standard.join(' '),
  };
}
