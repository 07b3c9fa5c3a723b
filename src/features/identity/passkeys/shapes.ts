import { z } from 'zod';
import { passkeyLimits } from '#src/contract/limits.js';

/** Bytes as base64url without padding, at most `max` bytes. */
const bytes = (max: number) =>
  z
    .string()
    .min(1)
    .max(Math.ceil((max * 4) / 3))
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding');

/** A credential with the response of its authenticator. */
const credentialWith = <T extends z.ZodObject>(response: T) =>
  z
    .object({
      id: bytes(passkeyLimits.credentialIdBytes),
      rawId: bytes(passkeyLimits.credentialIdBytes),
      type: z.literal('public-key'),
      response,
    })
    .refine(({ id, rawId }) => id === rawId, { path: ['rawId'], message: 'must be the same as id' })
    .meta({ description: 'What the browser returns: PublicKeyCredential.toJSON()' });
const clientDataJSON = bytes(passkeyLimits.responseBytes);
/** Unknown values are kept too (WebAuthn L3 §5.8.4). */
const transport = z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be the name of a transport');
const descriptor = z.object({
  type: z.literal('public-key'),
  id: z.string(),
  transports: z.array(z.string()).optional().meta({ description: 'Absent if the browser named none' }),
});
const userVerification = z.enum(['required', 'preferred']);

/** Result of `PublicKeyCredential.toJSON()` after a registration (WebAuthn L3 §5.1.8). */
export const registrationResponse = credentialWith(
  z.object({
    clientDataJSON,
    attestationObject: bytes(passkeyLimits.responseBytes),
    transports: z.array(transport).max(passkeyLimits.transports).default([]),
  }),
);

/** Result of `PublicKeyCredential.toJSON()` after a login. */
export const loginResponse = credentialWith(
  z.object({
    clientDataJSON,
    authenticatorData: bytes(passkeyLimits.responseBytes),
    signature: bytes(passkeyLimits.responseBytes),
    userHandle: bytes(64).or(z.literal('')).nullish(),
  }),
);

/** The authenticator's response to a registration. */
export type RegistrationResponse = z.output<typeof registrationResponse>;
/** The authenticator's response to a login. */
export type LoginResponse = z.output<typeof loginResponse>;

/** The parts of a credential that appear in the options of a ceremony. */
export interface DescribedCredential {
  readonly credentialId: string;
  readonly transports: readonly string[];
}

/** Argument of `PublicKeyCredential.parseCreationOptionsFromJSON()` in the page (WebAuthn L3 §5.1.9). */
export const creationOptions = z
  .object({
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    challenge: z.string(),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int(),
    excludeCredentials: z.array(descriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal('preferred'),
      requireResidentKey: z.literal(false),
      userVerification,
    }),
    attestation: z.literal('none'),
  })
  .meta({ id: 'PasskeyCreationOptions' });

/** Argument of `PublicKeyCredential.parseRequestOptionsFromJSON()` in the page. */
export const requestOptions = z
  .object({
    challenge: z.string(),
    timeout: z.int(),
    rpId: z.string(),
    allowCredentials: z.array(descriptor).meta({ description: 'Empty where the login names no address' }),
    userVerification,
  })
  .meta({ id: 'PasskeyRequestOptions' });

/** Renders a credential for the options of a ceremony (WebAuthn L3 §5.8.3). The browser searches for it only by its transports. */
export function describeCredential({ credentialId, transports }: DescribedCredential) {
  return {
    type: 'public-key',
    id: credentialId,
    ...(transports.length === 0 ? {} : { transports: [...transports] }),
  } as const;
}
