import { Failure } from '#src/contract/errors.js';
import { describeNetworkError } from '#src/platform/outbound/network-errors.js';

/** An error of the client library, or of the network. */
interface CodedError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly error?: unknown;
  readonly cause?: unknown;
}

/** Error codes for invalid ID tokens. */
const refusedToken = /^OAUTH_JWT_/;

/**
 * Converts the error of a call to a provider to a Failure of the catalog; the provider's own message is not passed on to clients. A code
 * that the provider rejects and an invalid ID token mean a refused login; everything else means that the provider does not work.
 */
export function providerFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { name, code, error: oauthError } = error as CodedError;
  const isRefused =
    (name === 'ResponseBodyError' && oauthError === 'invalid_grant') ||
    (typeof code === 'string' && refusedToken.test(code));
  return new Failure(isRefused ? 'user_oauth2_unauthorized' : 'user_oauth2_provider_error', { cause: error });
}

/** A defect in a provider's response, described in our own words, which are safe to log. */
class ProviderFault extends Error {}

/** Failure for a defect in a provider's response. */
export function faultOf(
  reason: string,
  type: 'user_oauth2_provider_error' | 'user_oauth2_unauthorized' = 'user_oauth2_provider_error',
): Failure {
  return new Failure(type, { cause: new ProviderFault(reason) });
}

/** The causes of a failure, outermost first. */
function causesOf(failure: Failure): readonly Error[] {
  const causes: Error[] = [];
  for (let cause = failure.cause; cause instanceof Error && causes.length < 8; cause = cause.cause) causes.push(cause);
  return causes;
}

/** Log text for a failed call: our own words and codes, never the content of requests or responses. */
export function reasonOf(failure: Failure): string {
  const causes = causesOf(failure);
  const own = causes.find((cause) => cause instanceof ProviderFault);
  if (own !== undefined) return own.message;
  const words = [
    ...causes.map((cause) => (cause as CodedError).error),
    ...causes.map((cause) => (cause as CodedError).code),
  ];
  const word = words.find((one) => typeof one === 'string' && /^[\w.-]{1,80}$/.test(one));
  // Library errors without a code wrap network errors.
  return String(word ?? describeNetworkError(causes.at(-1)));
}
