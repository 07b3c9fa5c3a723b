/** Signature algorithms of JWTs: with a secret of the service, or with a key whose public half it publishes. */
export const signingAlgorithms = ['HS256', 'RS256'] as const;

/** A signature algorithm of JWTs. */
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** The accepted form of a `kid` (RFC 7515 §4.1.4 leaves it open). */
export const kidPattern = /^[A-Za-z0-9_-]{1,64}$/;
