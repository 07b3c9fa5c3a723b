import { Failure } from '#src/contract/errors.js';

/** An error of the client library, or of the network. */
interface CodedError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly error?: unknown;
  readonly cause?: unknown;
}

/** Codes of ID tokens that are not what they have to be. */
const refusedToken = /^OAUTH_JWT_/;

/**
 * What a call to a provider failed of, in words of the catalog; what the provider has said is not repeated to clients. A code that the provider
 * does not accept, and an ID token that does not hold, are refused logins; the rest is a provider that does not work.
 */
export function providerFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { name, code, error: oauthError } = error as CodedError;
  const isRefused =
    (name === 'ResponseBodyError' && oauthError === 'invalid_grant') ||
    (typeof code === 'string' && refusedToken.test(code));
  return new Failure(isRefused ? 'user_oauth2_unauthorized' : 'user_oauth2_provider_error', { cause: error });
}

/** What the log says of a failed call: names and codes, never what was sent or answered. */
export function reasonOf(failure: Failure): string {
  const { name, code, error, cause } = (failure.cause ?? {}) as CodedError;
  const words = [error, code, (cause as CodedError | undefined)?.code, name];
  return String(words.find((word) => typeof word === 'string' && /^[\w.-]{1,80}$/.test(word)) ?? failure.type);
}
