import type { Actor } from '#src/contract/actor.js';
import type { Operation, RequestFacts } from '#src/contract/operation.js';
import type { LoginSwitch, Project } from '#src/contract/project.js';
import type { Runtime } from '#src/platform/index.js';
import type { Courier, Limits, MessageName, Projects } from '../../installation/index.js';
import type { Claims, Contact } from '../claims/index.js';
import type { ExternalLogins } from '../external-logins/index.js';
import type { Factors } from '../factors/index.js';
import type { Identities } from '../identities/index.js';
import type { OneTimeSecrets } from '../one-time-secrets/index.js';
import type { Passkeys } from '../passkeys/index.js';
import type { ProviderKind, Providers } from '../providers/index.js';
import type { BeforeExtension, Sessions, toNewSession } from '../sessions/index.js';
import type { Users } from '../users/index.js';

/** A one-time secret that logs in. */
export interface LoginSecret {
  /** What it is issued for; a secret of one purpose serves no other. */
  readonly purpose: string;
  /** The contact that it was sent to and proves; absent where it was handed over. */
  readonly contact?: Contact;
  /** It stands for a login at an identity provider: what is told of its recipient is the id of the identity. */
  readonly ofIdentity?: true;
}

/** A one-time secret that users ask for and get by mail or SMS. */
export interface SentSecret<M extends MessageName> extends LoginSecret {
  /** The message that carries it. */
  readonly message: M;
  readonly contact: Contact;
  readonly form: 'code' | 'link';
  readonly lifeSeconds: number;
}

/** A call that presents a one-time secret. */
export interface RedeemCall {
  readonly project: Project;
  readonly actor: Actor;
  readonly request: RequestFacts;
  readonly body: { readonly userId: string; readonly secret: string; readonly otp?: string | undefined };
}

/** What the features below offer to login methods. */
export interface LoginDeps {
  readonly users: Users;
  readonly claims: Claims;
  readonly sessions: Sessions;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly limits: Limits;
  readonly secrets: OneTimeSecrets;
  readonly courier: Courier;
  readonly projects: Projects;
  readonly identities: Identities;
  readonly providers: Providers;
  readonly externalLogins: ExternalLogins;
  /** Registers what has to happen before a session is extended. */
  readonly beforeExtension: BeforeExtension;
}

/** What a login method builds its operations with. */
export interface LoginToolkit extends LoginDeps {
  /** Logs in by a one-time secret of these purposes, or of every method. The audit log names the provider where it is refused. */
  redeem(call: RedeemCall, provider: string, purposes?: readonly string[]): Promise<ReturnType<typeof toNewSession>>;
}

/** A way to log in: a folder here with one of these, and its line in `index.ts`. */
export interface LoginMethod {
  /** What its sessions say about where they come from. */
  readonly provider: string;
  /** Names besides that one by which no identity provider may go, as they stand for it elsewhere. */
  readonly reserved?: readonly string[];
  /** The setting by which a project switches it off. */
  readonly login: LoginSwitch;
  /** What it proves, as `factors` of a session says it. */
  readonly factor: string;
  /** Whether users get a mail about a login from an unknown device. Pointless where the login proves the mailbox that the mail would go to. */
  readonly alerts: boolean;
  /** The one-time secret that it logs in by, if any: `POST /account/sessions/token` redeems those of every method. */
  readonly secret?: LoginSecret;
  /** The kinds of identity providers that it speaks with, if any. */
  providerKinds?(runtime: Pick<Runtime, 'egress' | 'clock' | 'config'>): readonly ProviderKind[];
  /** Its operations, each with its handler. */
  operations(runtime: Runtime, toolkit: LoginToolkit): readonly Operation[];
}
