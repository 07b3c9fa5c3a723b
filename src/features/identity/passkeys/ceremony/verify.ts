import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import type { Project } from '#src/contract/project.js';
import { lazy } from '#src/platform/lazy.js';
import { isUsableKey } from './public-key.js';
import { algorithms, relyingPartyId } from './relying-party.js';
import type { LoginResponse, RegistrationResponse } from './shapes.js';

/** Why a response does not count; for the audit log, never for the caller. */
interface Refused {
  readonly refused: string;
}

/** A credential that a registration has shown. */
export interface NewCredential {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly backupEligible: boolean;
  readonly userVerified: boolean;
}

/** What a signature has shown. */
interface Assertion {
  readonly counter: number;
  readonly userVerified: boolean;
}

/** What is known of a credential that signs. */
interface KnownCredential {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly backupEligible: boolean;
}

/** What a browser says it has signed (WebAuthn L3 §5.8.1). */
const clientData = z.object({
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

/** What the browser has signed; undefined where it is no client data. */
export function readClientData({ response }: RegistrationResponse | LoginResponse) {
  try {
    return clientData.safeParse(JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

interface Deps {
  readonly baseUrl: string;
  /** Whether pages of the origin belong to the project. */
  readonly allowsOrigin: (project: Project, origin: string) => boolean;
}

/** Verifies responses of authenticators (WebAuthn L3 §7). The challenge has been judged before; `createChallenges` knows it. */
export function createVerifier({ baseUrl, allowsOrigin }: Deps) {
  const library = lazy(() => import('@simplewebauthn/server'));
  const helpers = lazy(() => import('@simplewebauthn/server/helpers'));

  /** What both ceremonies expect; undefined where the response comes from a foreign page or from within a frame of one. */
  const expectation = (project: Project, response: RegistrationResponse | LoginResponse) => {
    const data = readClientData(response);
    if (data === undefined || data.crossOrigin === true || data.topOrigin !== undefined) return undefined;
    if (!allowsOrigin(project, data.origin)) return undefined;
    return {
      expectedChallenge: data.challenge,
      expectedOrigin: data.origin,
      expectedRPID: relyingPartyId(project, baseUrl),
      requireUserVerification: false,
    };
  };
  /**
   * The attestation object without its statement. None is asked for, so none is judged: the package would otherwise follow addresses that
   * stand in certificates of the caller's choice.
   */
  const withoutStatement = async (attestationObject: string): Promise<string> => {
    const { decodeAttestationObject, isoCBOR } = await helpers.get();
    const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
    const bare = new Map<string, string | Uint8Array | Map<string, never>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', decoded.get('authData')],
    ]);
    return Buffer.from(isoCBOR.encode(bare)).toString('base64url');
  };

  return {
    registration: async (project: Project, given: RegistrationResponse): Promise<NewCredential | Refused> => {
      const expected = expectation(project, given);
      if (expected === undefined) return { refused: 'foreign origin' };
      // A package that cannot be loaded is the service's fault, not the response's.
      const { verifyRegistrationResponse } = await library.get();
      const { decodeCredentialPublicKey } = await helpers.get();
      try {
        const attestationObject = await withoutStatement(given.response.attestationObject);
        const response: RegistrationResponseJSON = {
          ...given,
          response: { ...given.response, attestationObject },
          clientExtensionResults: {},
        };
        const supportedAlgorithmIDs = [...algorithms];
        const result = await verifyRegistrationResponse({ ...expected, response, supportedAlgorithmIDs });
        if (!result.verified) return { refused: 'not verified' };
        const { credential, userVerified, credentialDeviceType } = result.registrationInfo;
        if (credential.id !== given.id) return { refused: 'another credential' };
        if (!isUsableKey(decodeCredentialPublicKey(credential.publicKey))) return { refused: 'unusable key' };
        return {
          credentialId: credential.id,
          publicKey: Buffer.from(credential.publicKey).toString('base64url'),
          counter: credential.counter,
          backupEligible: credentialDeviceType === 'multiDevice',
          userVerified,
        };
      } catch {
        // Whatever the package finds wrong it throws, and its messages repeat what the caller sent.
        return { refused: 'not verified' };
      }
    },
    login: async (project: Project, given: LoginResponse, known: KnownCredential): Promise<Assertion | Refused> => {
      const expected = expectation(project, given);
      if (expected === undefined) return { refused: 'foreign origin' };
      const { userHandle, ...signed } = given.response;
      const response: AuthenticationResponseJSON = { ...given, response: signed, clientExtensionResults: {} };
      const publicKey = new Uint8Array(Buffer.from(known.publicKey, 'base64url'));
      // The package would refuse a counter before it has verified the signature; the rule is below.
      const credential = { id: known.credentialId, publicKey, counter: 0 };
      const { verifyAuthenticationResponse } = await library.get();
      try {
        const result = await verifyAuthenticationResponse({ ...expected, response, credential });
        if (!result.verified) return { refused: 'wrong signature' };
        const { newCounter, userVerified, credentialDeviceType } = result.authenticationInfo;
        // WebAuthn L3 §7.2: whether a credential can be backed up never changes.
        if ((credentialDeviceType === 'multiDevice') !== known.backupEligible)
          return { refused: 'backup flag changed' };
        // §6.1.1: a counter that does not grow tells of a copy.
        if ((newCounter > 0 || known.counter > 0) && newCounter <= known.counter)
          return { refused: 'signature counter did not grow' };
        return { counter: newCounter, userVerified };
      } catch {
        return { refused: 'not verified' };
      }
    },
  };
}

/** Verifies responses of authenticators. */
export type Verifier = ReturnType<typeof createVerifier>;
