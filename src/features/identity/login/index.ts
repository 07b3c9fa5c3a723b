import type { LoginSwitch } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Runtime } from '#src/platform/index.js';
import type { ProviderKind } from '../providers/index.js';
import { anonymous } from './anonymous/index.js';
import { emailCode } from './email-code/index.js';
import { magicUrl } from './magic-url/index.js';
import type { LoginMethod } from './method.js';
import { oauth2 } from './oauth2/index.js';
import { passkey } from './passkey/index.js';
import { password } from './password/index.js';
import { phoneCode } from './phone-code/index.js';
import { saml } from './saml/index.js';
import { serverToken } from './server-token/index.js';

export { createLogins } from './operations.js';

export { sealedSamlKeys } from './saml/own-keys/index.js';
export { serverTokenPurpose } from './server-token/index.js';

/** Every way to log in, in the order in which the documentation lists them. */
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

/** The kinds of identity providers that they speak with. */
export function providerKindsOf(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): readonly ProviderKind[] {
  return loginMethods.flatMap((method) => method.providerKinds?.(runtime) ?? []);
}

/** Where sessions come from that no login method opens. */
const otherProviders = ['server', 'invitation'];

/** What sessions and the code call other ways to log in: no identity provider may pass for one of them. */
export const reservedProviders: ReadonlySet<string> = new Set([
  ...loginMethods.flatMap(({ provider, reserved = [] }) => [provider, ...reserved]),
  ...otherProviders,
]);

/** The setting that switches the way to log in by which a session came. */
export function loginSwitchOf(session: Pick<Session, 'provider' | 'factors'>): LoginSwitch {
  // Sessions of an identity provider have its key.
  const method = loginMethods.find(
    ({ provider, factor, providerKinds }) =>
      session.factors.includes(factor) && (providerKinds !== undefined || session.provider === provider),
  );
  return method?.login ?? 'login.invitation';
}
