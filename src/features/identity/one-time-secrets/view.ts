import { z } from 'zod';
import { type Instant, toWireInstant, wireInstant } from '#src/contract/shapes.js';

/** A secret that was just issued. */
export interface Issued {
  readonly id: string;
  /** The user id that the caller has to present with the secret. */
  readonly userId: string;
  readonly secret: string;
  readonly createdAt: Instant;
  readonly expire: Instant;
}

/** A one-time secret on the wire. */
export const tokenShape = z
  .object({
    $id: z.string(),
    $createdAt: wireInstant,
    userId: z.string(),
    secret: z.string().meta({ description: 'Filled only for callers that may hand it over themselves' }),
    expire: wireInstant,
    phrase: z.string().meta({ description: 'Words that the message shows too, where the request asked for them' }),
  })
  .meta({ id: 'Token' });

/** Renders an issued secret for the wire; `secret` is the part that the caller may see. */
export function toToken(issued: Issued, secret: string, phrase = ''): z.input<typeof tokenShape> {
  return {
    $id: issued.id,
    $createdAt: toWireInstant(issued.createdAt),
    userId: issued.userId,
    secret,
    expire: toWireInstant(issued.expire),
    phrase,
  };
}
