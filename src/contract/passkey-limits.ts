/**
 * Passkeys of a user, characters of a name, longest time of a ceremony in seconds, bytes of a credential id, transports, and bytes of a
 * part of a response.
 */
export const passkeyLimits = {
  perUser: 20,
  name: 128,
  ceremonySeconds: 300,
  credentialIdBytes: 1023,
  transports: 8,
  responseBytes: 16_384,
} as const;
