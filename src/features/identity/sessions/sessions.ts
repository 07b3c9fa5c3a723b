import type { User } from '#src/contract/actor.js';
import type { RequestFacts } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import type { UserRecord } from '#src/contract/user.js';
import type { Reader, Unit } from '#src/platform/db/unit.js';
import type { Factors, SecondFactor } from '../factors/index.js';
import type { Users } from '../users/index.js';
import type { AlertDeps } from './alerts.js';
import type { SessionRow } from './store.js';

/** How a user came in. */
export interface Login {
  readonly provider: string;
  readonly providerUid: string;
  readonly factors: readonly string[];
  readonly request: RequestFacts;
  /** Whether it has proved two factors already, as a passkey does that has verified its user. */
  readonly multiFactor?: boolean;
  /** The second factor, where the login came with it. */
  readonly otp?: string | undefined;
  /** The open session of the same user that this one takes the place of: the second factor that it has counts on. */
  readonly replaces?: Session;
}

/** A session that was just opened. */
export interface OpenedSession {
  readonly session: Session;
  readonly secret: string;
}

/** What sessions use. */
export interface SessionDeps extends AlertDeps {
  readonly users: Users;
  readonly factors: Factors;
}

/** Sessions of end users: every login opens one here. */
export interface Sessions {
  /** The user behind a session secret, or undefined where the secret stands for nothing. Throws Failure `user_blocked`. */
  authenticate(project: Project, secret: string, via: User['via']): Promise<User | undefined>;
  /** The same for a JWT, which names its session and is proof of it; a login that lacks its second factor has none. */
  authenticateById(project: Project, userId: string, id: string): Promise<User | undefined>;
  /** The users of sessions by their ids, where these count now. Unlike a login this is no use of them. */
  usersOf(project: Project, ids: readonly string[]): Promise<ReadonlyMap<string, User>>;
  /**
   * Opens a session where the user has proved enough: refuses blocked users and logins that lack the second factor, ends the session the
   * same browser held, and the oldest beyond the project's limit. The caller has proved the first factor.
   */
  open(unit: Unit, project: Project, account: UserRecord, login: Login): Promise<OpenedSession>;
  /** Opens the session that a pending one stood for. Refuses with `user_invalid_token` where that has ended meanwhile. */
  complete(
    unit: Unit,
    project: Project,
    account: UserRecord,
    pendingSession: Session,
    second: SecondFactor,
    request: RequestFacts,
  ): Promise<OpenedSession>;
  /** Records that the user of a session has a factor more. It makes the session no fresher, as its holder was given the seed just now. */
  noteFactor(unit: Unit, project: Project, session: Session, factor: SecondFactor): Promise<Session>;
  /** Gives a session a full life from now, as far as its longest life reaches. */
  extend(unit: Unit, project: Project, session: Session): Promise<Session>;
  /**
   * Gives a session another secret; the one before it is good for nothing any more. Where its user has just proved a factor, that is recorded
   * too. Throws Failure where the session is gone.
   */
  renew(unit: Unit, project: Project, session: Session, factor?: SecondFactor): Promise<OpenedSession>;
  /**
   * The account of a call as it is now, locked until the unit ends. What ended the session while the call was on its way, such as a proof by
   * the owner of a contact, ended the call too. Throws Failure.
   */
  holdCaller(unit: Unit, project: Project, user: User): Promise<UserRecord>;
  /** The sessions of a user that would be accepted and lack nothing, oldest first. */
  active(reader: Reader, project: Project, userId: string): Promise<SessionRow[]>;
  /** One of them. Throws Failure `user_session_not_found` where the user has no such session. */
  get(reader: Reader, project: Project, userId: string, id: string): Promise<Session>;
  /** Ends a session; false where another call was quicker, whose event it is. */
  close(unit: Unit, project: Project, session: Session): Promise<boolean>;
  /** Ends every session of a user but one, and returns how many. */
  closeAll(unit: Unit, project: Project, userId: string, exceptId?: string): Promise<number>;
  /** Ends the sessions of a user that an identity has opened, but one, and logins that lack their second factor. */
  closeOfIdentity(
    unit: Unit,
    project: Project,
    identity: { readonly userId: string; readonly provider: string; readonly providerUid: string },
    exceptId?: string,
  ): Promise<void>;
  /** Ends every session of a user and keeps the rows: while the block lasts their holders are told `user_blocked`. */
  endAll(unit: Unit, project: Project, userId: string): Promise<void>;
  /** Ends the logins of a user that lack their second factor: the factors have changed meanwhile. */
  dropPending(unit: Unit, project: Project, userId: string): Promise<void>;
  /** Throws Failure `user_challenge_required` where the last login or challenge is older than 20 minutes. */
  demandFresh(session: Session): void;
}
