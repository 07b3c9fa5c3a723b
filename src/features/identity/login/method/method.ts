import type { Operation } from '#src/contract/operation.js';
import type { LoginSwitch } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { Installation, MessageName } from '../../../installation/index.js';
import type { Claims, Contact } from '../../claims/index.js';
import type { BrowserCall, ExternalLogins } from '../../external-logins/index.js';
import type { Factors } from '../../factors/index.js';
import type { Identities } from '../../identities/index.js';
import type { OneTimeSecrets } from '../../one-time-secrets/index.js';
import type { Passkeys } from '../../passkeys/index.js';
import type { ProviderKind, Providers } from '../../providers/index.js';
import type { BeforeExtension, Sessions, toNewSession } from '../../sessions/index.js';
import type { Users } from '../../users/index.js';

/** A one-time secret for logging in. */
export interface LoginSecret {
  /** The purpose it is issued for; a secret of one purpose is valid for no other. */
  readonly purpose: string;
  /** The contact it was sent to and proves; absent if it was handed over directly. */
  readonly contact?: Contact;
  /** The secret stands for a login at an identity provider; its recipient is the id of the identity. */
  readonly ofIdentity?: true;
}

/** A one-time secret that users request and receive by mail or SMS. */
export interface SentSecret<M extends MessageName> extends LoginSecret {
  /** The message that it is sent with has the same name. */
  readonly purpose: M;
  readonly contact: Contact;
  readonly form: 'code' | 'link';
  readonly lifeSeconds: number;
}

/** A call that presents a one-time secret. */
export interface RedeemCall extends BrowserCall {
  readonly body: { readonly userId: string; readonly secret: string; readonly otp?: string | undefined };
}

/** Services that login methods use. */
export interface LoginDeps extends Pick<Installation, 'courier' | 'limits' | 'projects'> {
  readonly users: Users;
  readonly claims: Claims;
  readonly sessions: Sessions;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly secrets: OneTimeSecrets;
  readonly identities: Identities;
  readonly providers: Providers;
  readonly externalLogins: ExternalLogins;
  /** Registers a hook that runs before a session is extended. */
  readonly beforeExtension: BeforeExtension;
}

/** Services that a login method builds its operations with. */
export interface LoginToolkit extends LoginDeps {
  /**
   * Logs in with a one-time secret of these purposes, or of any method if omitted. The audit log names `provider` if the secret is refused.
   */
  redeem(call: RedeemCall, provider: string, purposes?: readonly string[]): Promise<ReturnType<typeof toNewSession>>;
}

/** A login method: one folder here that exports one of these, and one line in `index.ts`. */
export interface LoginMethod {
  /** Value of `provider` in its sessions. */
  readonly provider: string;
  /** Further names that identity providers must not have, because other places use them for this method. */
  readonly reserved?: readonly string[];
  /** The project setting that switches it off. */
  readonly login: LoginSwitch;
  /** The factor it proves, as in `factors` of a session. */
  readonly factor: string;
  /** True if users get a mail about a login from an unknown device. Pointless if the login itself proves the mailbox. */
  readonly alerts: boolean;
  /** The one-time secret it logs in with, if any. `POST /account/sessions/token` redeems those of every method. */
  readonly secret?: LoginSecret;
  /** The kinds of identity providers it supports, if any. */
  providerKinds?(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): readonly ProviderKind[];
  /** Its operations with their handlers. */
  operations(runtime: Runtime, toolkit: LoginToolkit): readonly Operation[];
}
