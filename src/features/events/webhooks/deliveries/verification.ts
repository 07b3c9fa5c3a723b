import { createHmac, timingSafeEqual } from 'node:crypto';
import { deliveryHeaders } from '#src/contract/headers.js';
import { keyBytes, secretPrefix } from './signature.js';

/** A delivery as a receiver got it. Missing headers are undefined. */
export interface ReceivedDelivery {
  /** The bytes of the body. */
  readonly body: Buffer;
  /** `X-Service-Signature`. */
  readonly signature?: string | undefined;
  /** Headers of Standard Webhooks. */
  readonly id?: string | undefined;
  readonly timestamp?: string | undefined;
  readonly standardSignature?: string | undefined;
}

/** Result for one header of a delivery. `reason` describes the fault and is empty if there is none. */
export interface HeaderCheck {
  readonly header: string;
  readonly ok: boolean;
  readonly reason: string;
}

/** Creates a result from the fault; undefined means none. */
const checked = (header: string, reason: string | undefined): HeaderCheck => ({
  header,
  ok: reason === undefined,
  reason: reason ?? '',
});

/** True if a text can be a signing secret: at least 24 bytes in base64. The prefix is optional, as other senders omit it. */
export function isSigningSecret(text: string): boolean {
  const encoded = text.replace(secretPrefix, '');
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded) && Buffer.from(encoded, 'base64').length >= keyBytes.min;
}

/**
 * Checks the given headers of a delivery: `X-Service-Signature` and those of Standard Webhooks, which other senders use too. `now` is in
 * seconds since 1970; `toleranceSeconds` is the allowed difference of the timestamp.
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
