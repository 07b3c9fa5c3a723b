import { z } from 'zod';
import { declare, json } from '#src/contract/declaration.js';
import { bodySizes, jwtLimits } from '#src/contract/limits.js';
import { signingAlgorithms } from '#src/contract/signing-key.js';

/** A JWT on the wire. */
export const jwtShape = z.object({ jwt: z.string() }).meta({ id: 'Jwt' });

/** Options of a new JWT. */
export const jwtWishes = z.object({
  alg: z.enum(signingAlgorithms).default('HS256'),
  duration: z.int().min(1).max(jwtLimits.maxSeconds).default(jwtLimits.seconds),
});

/** JWTs that let a backend act for a user. */
export const tokensApi = declare({
  create: {
    id: 'account.createJwt',
    method: 'POST',
    path: '/account/jwts',
    aliases: ['/account/jwt'],
    summary: 'Makes a JWT by which a backend acts for the signed-in user; with RS256 anybody can verify it.',
    tag: 'account',
    access: { auth: ['user'] },
    limits: { calls: 'data', bodyBytes: bodySizes.account },
    input: { body: jwtWishes },
    reply: { status: 201, shape: json(jwtShape), errors: ['user_jwt_creation_denied', 'general_rate_limit_exceeded'] },
  },
});
