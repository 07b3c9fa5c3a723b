import { createHmac, timingSafeEqual } from 'node:crypto';
import { deliveryHeaders } from '#src/contract/headers.js';
import { keyBytes, secretPrefix } from './signature.js';

/** What a receiver has of a delivery. Headers that it did not get are absent. */
export interface ReceivedDelivery {
  /** The bytes of the body. */
  readonly body: Buffer;
  /** `X-Service-Signature`. */
  readonly signature?: string | undefined;
  /** The headers of Standard Webhooks. */
  readonly id?: string | undefined;
  readonly timestamp?: string | undefined;
  readonly standardSignature?: string | undefined;
}

/** One header of a delivery that was checked; `reason` says what is wrong, and is empty where nothing is. */
export interface HeaderCheck {
  readonly header: string;
  readonly ok: boolean;
  readonly reason: string;
}

/** A header of the delivery, checked: the reason is what is wrong, or undefined. */
const checked = (header: string, reason: string | undefined): HeaderCheck => ({
  header,
  ok: reason === undefined,
  reason: reason ?? '',
});

/** Whether a text can be a signing secret: at least 24 bytes in base64, with the prefix or, as other senders show it, without. */
export function isSigningSecret(text: string): boolean {
  const encoded = text.replace(secretPrefix, '');
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded) && Buffer.from(encoded, 'base64').length >= keyBytes.min;
}

/**
 * Checks the headers of a delivery that are given: ours, and those of Standard Webhooks, which any sender of that form sets.
 * `now` and `toleranceSeconds` are seconds since 1970 and how far the timestamp may be from them.
 */
export function verifyDelivery(
  secret: string,
  delivery: ReceivedDelivery,
  { now, toleranceSeconds }: { readonly now: number; readonly toleranceSeconds: number },
): HeaderCheck[] {
  const { signature, id, timestamp, standardSignature } = delivery;
  return [
    ...(signature === undefined
      ? []
      : [checked(deliveryHeaders.signature, plainProblem(secret, delivery.body, signature))]),
    ...(timestamp === undefined ? [] : [checked('webhook-timestamp', timeProblem(timestamp, now, toleranceSeconds))]),
    ...(id === undefined || timestamp === undefined || standardSignature === undefined
      ? []
      : [
          checked(
            'webhook-signature',
            standardProblem(secret, `${id}.${timestamp}.`, delivery.body, standardSignature),
          ),
        ]),
  ];
}

function plainProblem(secret: string, body: Buffer, signature: string): string | undefined {
  if (!/^[0-9a-f]{64}$/.test(signature)) return 'is not a SHA-256 in lower-case hex';
  const expected = createHmac('sha256', secret).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'))
    ? undefined
    : 'does not fit the body and the secret: one of them differs from what was signed';
}

function timeProblem(timestamp: string, now: number, toleranceSeconds: number): string | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'is not a number of seconds since 1970';
  const off = Number(timestamp) - now;
  if (Math.abs(off) <= toleranceSeconds) return undefined;
  return `lies ${Math.round(Math.abs(off))} seconds ${off < 0 ? 'back' : 'ahead'}, and ${toleranceSeconds} are allowed: the delivery was sent again, or a clock is wrong`;
}

function standardProblem(secret: string, prefix: string, body: Buffer, given: string): string | undefined {
  const signatures = given.split(' ').filter((one) => one.startsWith('v1,'));
  if (signatures.length === 0) return 'has no signature of the version v1';
  const key = Buffer.from(secret.replace(secretPrefix, ''), 'base64');
  const expected = createHmac('sha256', key).update(prefix).update(body).digest();
  const fits = signatures.some((one) => {
    const bytes = Buffer.from(one.slice('v1,'.length), 'base64');
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
  return fits
    ? undefined
    : 'does not fit the id, the timestamp, the body and the secret: one of them differs from what was signed';
}
