import type { User } from '#src/contract/actor.js';
import { auditContextOf, type RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { Instant } from '#src/contract/shapes.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Runtime } from '#src/platform/index.js';
import type { Factors, SecondFactor } from '../factors/index.js';
import type { Users } from '../users/index.js';
import type { AlertDeps } from './alerts.js';
import type { SessionRow } from './store.js';

/** Details of a login. */
export interface Login {
  readonly provider: string;
  readonly providerUid: string;
  readonly factors: readonly string[];
  readonly request: RequestFacts;
  /** True if the login has already proved two factors, for example a passkey with user verification. */
  readonly multiFactor?: boolean;
  /** End of the session as set by the identity provider. */
  readonly endsBy?: Instant | null;
  /** The code of the second factor, if given with the login. */
  readonly otp?: string | undefined;
  /** The user's open session that the new one replaces; its second factor remains valid. */
  readonly replaces?: Session;
}

/** A session that was just opened. */
export interface OpenedSession {
  readonly session: Session;
  readonly secret: string;
}

/** Features that sessions depend on. */
export interface SessionDeps extends AlertDeps {
  readonly users: Users;
  readonly factors: Factors;
}

/** Sessions of end users. Every login opens its session here. */
export interface Sessions {
  /** The user of a session secret; undefined if the secret is not valid. Throws Failure `user_blocked`. */
  authenticate(project: Project, secret: string, via: User['via']): Promise<User | undefined>;
  /** `authenticate` for a JWT, which proves the session it names. Undefined for pending sessions, which get no JWTs. */
  authenticateById(project: Project, userId: string, id: string): Promise<User | undefined>;
  /** The users of sessions by session id, if the sessions are valid now. Does not update the time of last use. */
  usersOf(project: Project, ids: readonly string[]): Promise<ReadonlyMap<string, User>>;
  /**
   * Opens a session after the caller has verified the first factor. Refuses blocked users and logins without a required second factor. Ends
   * the previous session of the same browser and the oldest sessions over the project's limit.
   */
  open(unit: Unit, project: Project, account: UserRecord, login: Login): Promise<OpenedSession>;
  /** Replaces a pending session by a full one. Refuses with `user_invalid_token` if the pending session has ended. */
  complete(
    unit: Unit,
    project: Project,
    account: UserRecord,
    pendingSession: Session,
    second: SecondFactor,
    request: RequestFacts,
  ): Promise<OpenedSession>;
  /** Adds a factor to a session. Does not make the session fresh, because its holder has only just received the seed. */
  noteFactor(unit: Unit, project: Project, session: Session, factor: SecondFactor): Promise<Session>;
  /** Extends a session to a full lifetime from now, within its maximum lifetime. */
  extend(unit: Unit, project: Project, session: Session): Promise<Session>;
  /**
   * Replaces the secret of a session; the old one stops working. Also records `factor` if the user has just proved it. Throws Failure if
   * the session has ended.
   */
  renew(unit: Unit, project: Project, session: Session, factor?: SecondFactor): Promise<OpenedSession>;
  /**
   * Locks the caller's account until the unit ends and returns its current state. Throws Failure if the session has ended since the call
   * began, for example because the owner of a contact has proved it.
   */
  holdCaller(unit: Unit, project: Project, user: User): Promise<UserRecord>;
  /** The valid sessions of a user without pending ones, oldest first. */
  active(reader: Reader, project: Project, userId: string): Promise<SessionRow[]>;
  /** A session of `active`. Throws Failure `user_session_not_found` if the user has no such session. */
  get(reader: Reader, project: Project, userId: string, id: string): Promise<Session>;
  /** Ends a session; false if a concurrent call has ended and recorded it. */
  close(unit: Unit, project: Project, session: Session): Promise<boolean>;
  /** Ends all sessions of a user except one; returns their number. */
  closeAll(unit: Unit, project: Project, userId: string, exceptId?: string): Promise<number>;
  /** Ends the sessions opened by an identity, pending ones included, except one. */
  closeOfIdentity(
    unit: Unit,
    project: Project,
    identity: { readonly userId: string; readonly provider: string; readonly providerUid: string },
    exceptId?: string,
  ): Promise<void>;
  /** Ends all sessions of a user but keeps the rows: while the block lasts, their holders get `user_blocked`. */
  endAll(unit: Unit, project: Project, userId: string): Promise<void>;
  /** Ends the pending logins of a user, because the second factors have changed. */
  dropPending(unit: Unit, project: Project, userId: string): Promise<void>;
  /** True unless the last login or challenge was older than 20 minutes at that time. */
  wasFresh(session: Session, at: Instant): boolean;
  /** Throws Failure `user_challenge_required` if the last login or challenge is older than 20 minutes. */
  requireFresh(session: Session): void;
}

/** A call by a user. */
export interface CallByUser {
  readonly project: Project;
  readonly actor: User;
  readonly request: RequestFacts;
}

/** Runs a unit on the account of the caller, locked by `holdCaller`. */
export function workOnCaller<T>(
  { db, sessions }: Pick<Runtime, 'db'> & { readonly sessions: Sessions },
  call: CallByUser,
  act: (unit: Unit, account: UserRecord) => Promise<T>,
): Promise<T> {
  const { project, actor } = call;
  return db.work(auditContextOf(call), async (unit) => act(unit, await sessions.holdCaller(unit, project, actor)));
}
