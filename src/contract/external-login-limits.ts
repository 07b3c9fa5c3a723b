/** Identity providers of a project, and what they may answer and hold; sizes in bytes, texts in characters, times in milliseconds. */
export const providerLimits = {
  perProject: 50,
  /** All calls of a login together. */
  timeoutMs: 10_000,
  answerBytes: 262_144,
  /** How long what a provider says of itself is kept. */
  metadataMs: 600_000,
  clientId: 512,
  secret: 8192,
  url: 2048,
  /** Scopes of a provider and of a login, and one of them. */
  scopes: 100,
  scope: 4096,
  /** Of what a browser brings back. */
  code: 8192,
} as const;

/**
 * Of what SAML identity providers send; sizes in bytes, times in milliseconds. Parsers and canonicalisers walk a document several times, so
 * all that they walk is bounded.
 */
export const samlLimits = {
  /** Of a response. */
  bytes: 262_144,
  metadataBytes: 1_048_576,
  depth: 64,
  elements: 2000,
  attributes: 4000,
  attributesOfElement: 64,
  namespacesInScope: 64,
  /** Signing certificates of a provider: each may be tried for a signature. */
  certificates: 8,
  /** Characters of the name of an attribute, and domains whose addresses count as verified. */
  attributeName: 512,
  emailDomains: 100,
  /** By which the clock of a provider may differ. */
  skewMs: 60_000,
} as const;

/** Identities of a user, and what of one is kept, in characters: a longer id is refused, longer tokens are not kept. */
export const identityLimits = { perUser: 50, uid: 255, token: 16_384 } as const;
