import type { Operation } from '#src/contract/operation.js';
import type { LoginSwitch } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Runtime } from '#src/platform/index.js';
import type { ProviderKind } from '../providers/index.js';
import { anonymous } from './anonymous/index.js';
import { emailCode } from './email-code/index.js';
import { magicUrl } from './magic-url/index.js';
import type { LoginDeps, LoginMethod } from './method/method.js';
import { oauth2 } from './oauth2/index.js';
import { passkey } from './passkey/index.js';
import { password } from './password/index.js';
import { phoneCode } from './phone-code/index.js';
import { createRedemption } from './redemption.js';
import { saml } from './saml/index.js';
import { serverToken } from './server-token/index.js';

export { sealedSamlKeys } from './saml/own-keys/index.js';
export { serverTokenPurpose } from './server-token/index.js';

/** All login methods, in the order of the documentation. */
export const loginMethods: readonly LoginMethod[] = [
  password,
  anonymous,
  magicUrl,
  emailCode,
  phoneCode,
  oauth2,
  saml,
  passkey,
  serverToken,
];

/** Builds the operations of all login methods. */
export function createLogins(runtime: Runtime, deps: LoginDeps): { readonly operations: readonly Operation[] } {
  const toolkit = { ...deps, redeem: createRedemption(runtime, deps, loginMethods) };
  return { operations: loginMethods.flatMap((method) => method.operations(runtime, toolkit)) };
}

/** The kinds of identity providers that login methods support. */
export function providerKindsOf(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): readonly ProviderKind[] {
  return loginMethods.flatMap((method) => method.providerKinds?.(runtime) ?? []);
}

/** Providers of sessions that no login method opens. */
const otherProviders = ['server', 'invitation'];

/** Names that sessions and the code use for other login methods. An identity provider must not have one of them. */
export const reservedProviders: ReadonlySet<string> = new Set([
  ...loginMethods.flatMap(({ provider, reserved = [] }) => [provider, ...reserved]),
  ...otherProviders,
]);

/** The setting that switches off the login method of a session. */
export function loginSwitchOf(session: Pick<Session, 'provider' | 'factors'>): LoginSwitch {
  // Sessions of an identity provider carry its key as `provider`.
  const method = loginMethods.find(
    ({ provider, factor, providerKinds }) =>
      session.factors.includes(factor) && (providerKinds !== undefined || session.provider === provider),
  );
  return method?.login ?? 'login.invitation';
}
