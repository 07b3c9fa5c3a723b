import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import type { Project } from '#src/contract/project.js';
import { bind } from '#src/platform/runtime/bind.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { readJson } from '#src/platform/text/json.js';
import { isUsableKey } from './public-key.js';
import { algorithms, relyingPartyId } from './relying-party.js';
import type { LoginResponse, RegistrationResponse } from './shapes.js';

const library = lazy(() => import('@simplewebauthn/server'));
const helpers = lazy(() => import('@simplewebauthn/server/helpers'));

/** The reason for refusing a response; for the audit log, never for the caller. */
interface Refused {
  readonly refused: string;
}

/** The credential from a verified registration. */
export interface NewCredential {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly backupEligible: boolean;
  readonly transports: readonly string[];
  readonly userVerified: boolean;
}

/** The result of a verified signature. */
type Assertion = Pick<NewCredential, 'counter' | 'userVerified'>;

/** Stored data of a credential that signs. */
type KnownCredential = Pick<NewCredential, 'credentialId' | 'publicKey' | 'counter' | 'backupEligible'>;

/** Client data that the browser has signed (WebAuthn L3 §5.8.1). */
const clientData = z.object({
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
  topOrigin: z.string().optional(),
});

/** Parses the client data that the browser has signed; undefined if it is malformed. */
export function readClientData({ response }: RegistrationResponse | LoginResponse) {
  try {
    return clientData.safeParse(readJson(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

interface Deps {
  readonly baseUrl: string;
  /** True if the project allows pages of the origin. */
  readonly allowsOrigin: (project: Project, origin: string) => boolean;
}

/** The verifier of authenticator responses. */
export interface Verifier {
  registration(project: Project, given: RegistrationResponse): Promise<NewCredential | Refused>;
  login(project: Project, given: LoginResponse, known: KnownCredential): Promise<Assertion | Refused>;
}

/** Verifies responses of authenticators (WebAuthn L3 §7), except the challenge, which `createCeremonyChallenges` checks first. */
export function createPasskeyVerifier(deps: Deps): Verifier {
  return bind(deps, { registration, login });
}

async function registration(deps: Deps, project: Project, given: RegistrationResponse) {
  const expected = expectation(deps, project, given);
  if (expected === undefined) return { refused: 'foreign origin' };
  // Loaded outside the try block: if the package cannot be loaded, the response is not to blame.
  const { verifyRegistrationResponse } = await library.get();
  const { decodeCredentialPublicKey } = await helpers.get();
  try {
    const attestationObject = await withoutStatement(given.response.attestationObject);
    const { clientDataJSON, transports } = given.response;
    const response: RegistrationResponseJSON = {
      ...given,
      response: { clientDataJSON, attestationObject },
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
      transports: [...new Set(transports)],
      userVerified,
    };
  } catch {
    // The package throws on any defect, and its messages repeat what the caller sent.
    return { refused: 'not verified' };
  }
}

/** Expected values common to both ceremonies; undefined if the response comes from a foreign page or from a frame in one. */
function expectation(deps: Deps, project: Project, response: RegistrationResponse | LoginResponse) {
  const data = readClientData(response);
  if (data === undefined || data.crossOrigin === true || data.topOrigin !== undefined) return undefined;
  if (!deps.allowsOrigin(project, data.origin)) return undefined;
  return {
    expectedChallenge: data.challenge,
    expectedOrigin: data.origin,
    expectedRPID: relyingPartyId(project, deps.baseUrl),
    requireUserVerification: false,
  };
}

/**
 * The attestation object without its statement. No attestation is requested, so none is verified. Otherwise the package would fetch URLs
 * from certificates that the caller chose.
 */
async function withoutStatement(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoCBOR } = await helpers.get();
  const decoded = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url')));
  const bare = new Map<string, string | Uint8Array | Map<string, never>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, never>()],
    ['authData', decoded.get('authData')],
  ]);
  return Buffer.from(isoCBOR.encode(bare)).toString('base64url');
}

async function login(deps: Deps, project: Project, given: LoginResponse, known: KnownCredential) {
  const expected = expectation(deps, project, given);
  if (expected === undefined) return { refused: 'foreign origin' };
  const { userHandle, ...signed } = given.response;
  const response: AuthenticationResponseJSON = { ...given, response: signed, clientExtensionResults: {} };
  const publicKey = new Uint8Array(Buffer.from(known.publicKey, 'base64url'));
  // The package would check the counter before it has verified the signature, so it gets 0 here; the check is below.
  const credential = { id: known.credentialId, publicKey, counter: 0 };
  const { verifyAuthenticationResponse } = await library.get();
  try {
    const result = await verifyAuthenticationResponse({ ...expected, response, credential });
    if (!result.verified) return { refused: 'wrong signature' };
    const { newCounter, userVerified, credentialDeviceType } = result.authenticationInfo;
    // WebAuthn L3 §7.2: a credential's backup eligibility never changes.
    if ((credentialDeviceType === 'multiDevice') !== known.backupEligible) return { refused: 'backup flag changed' };
    // §6.1.1: a counter that does not increase indicates a cloned authenticator.
    if ((newCounter > 0 || known.counter > 0) && newCounter <= known.counter)
      return { refused: 'signature counter did not grow' };
    return { counter: newCounter, userVerified };
  } catch {
    return { refused: 'not verified' };
  }
}
