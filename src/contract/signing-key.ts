/** How JWTs are signed: with a secret that only the service knows, or with a key whose public half it publishes. */
export const signingAlgorithms = ['HS256', 'RS256'] as const;

/** One of them. */
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** What a `kid` may look like (RFC 7515 §4.1.4 leaves it open). */
export const kidPattern = /^[A-Za-z0-9_-]{1,64}$/;
