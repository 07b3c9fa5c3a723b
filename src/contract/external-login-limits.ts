/** Limits of identity providers; sizes in bytes, texts in characters, times in milliseconds. */
export const providerLimits = {
  perProject: 50,
  /** All calls of a login together. */
  timeoutMs: 10_000,
  answerBytes: 262_144,
  /** Cache time of a provider's metadata. */
  metadataMs: 600_000,
  clientId: 512,
  secret: 8192,
  url: 2048,
  /** Scopes of a provider and of a login, and characters of one scope. */
  scopes: 100,
  scope: 4096,
  claimName: 256,
  /** Characters of an authorization code. */
  code: 8192,
} as const;

/**
 * Limits of SAML documents; sizes in bytes, times in milliseconds. Parsers and canonicalisers walk a document several times, so every
 * dimension is limited.
 */
export const samlLimits = {
  /** Bytes of a response. */
  bytes: 262_144,
  metadataBytes: 1_048_576,
  depth: 64,
  elements: 2000,
  attributes: 4000,
  attributesOfElement: 64,
  namespacesInScope: 64,
  /** Responses queued for verification, those of one address, longest time of a verification, and memory of its thread. */
  waiting: 32,
  waitingOfAddress: 8,
  verifyMs: 10_000,
  retrySeconds: 2,
  threadMiB: 64,
  /** Signing certificates of a provider; a signature may be tried against each of them. */
  certificates: 8,
  /** Characters of an attribute name, and domains whose addresses count as verified. */
  attributeName: 512,
  emailDomains: 100,
  /** Largest difference of a provider's clock. */
  skewMs: 60_000,
} as const;

/** Identities of a user, and characters of an id and a token. A longer id is refused; a longer token is not stored. */
export const identityLimits = { perUser: 50, uid: 255, token: 16_384 } as const;
