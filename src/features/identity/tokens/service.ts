import { z } from 'zod';
import type { User } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { jwtLimits } from '#src/contract/limits.js';
import { rolesOf } from '#src/contract/permissions.js';
import type { Project } from '#src/contract/project.js';
import type { Session } from '#src/contract/session.js';
import { customId } from '#src/contract/shapes.js';
import type { SigningAlgorithm } from '#src/contract/signing-key.js';
import type { UserRecord } from '#src/contract/user.js';
import { digest, equalDigests } from '#src/platform/crypto/digest.js';
import type { Runtime } from '#src/platform/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { ServerKeys } from '../../installation/index.js';
import { noSession, type Sessions } from '../sessions/index.js';
import { issuerOf, type SigningKeys, type tokenClaims } from '../signing-keys/index.js';
import type { Users } from '../users/index.js';

/** Prefix of the `act` claim (RFC 8693 §4.1) if a server key acts for the user. */
const actPrefix = 'key:';

/** Claims that are checked after the signature. */
const claimsShape = z.object({
  sub: customId,
  sid: z.union([z.literal(''), customId]),
  jti: z.string(),
  act: z.object({ sub: z.string().startsWith(actPrefix) }).optional(),
  exp: z.number(),
});
const required = ['iss', 'aud', 'sub', 'iat', 'exp', 'sid', 'jti'];

type ClaimName = (typeof tokenClaims)[number];
type Claims = Readonly<Record<Exclude<ClaimName, 'rolesTruncated' | 'act'>, unknown>> & {
  readonly rolesTruncated?: true;
  readonly act?: { readonly sub: string };
};

/** Features that tokens depend on. */
export interface TokenDeps extends Pick<Runtime, 'db' | 'clock' | 'random' | 'jwt' | 'config'> {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly signingKeys: SigningKeys;
  readonly serverKeys: ServerKeys;
}

interface Wishes {
  readonly alg: SigningAlgorithm;
  readonly duration: number;
  readonly actingKey?: string;
}

/** The tokens service. */
export interface Tokens {
  /**
   * Creates a token for a user, bound to a session of the user if given. If it would be too large, roles from teams are omitted and
   * `rolesTruncated` is set. A token created by a server key names it in `act`. Not inside a unit of work. Throws Failure
   * `general_argument_invalid` if the token is still too large, and `user_jwt_creation_denied` if the project does not allow server keys
   * to create tokens.
   */
  mint(project: Project, account: UserRecord, session: Session | null, wishes: Wishes): Promise<string>;
  /** The current user of a token. Throws Failure `user_jwt_invalid` and `user_blocked`. */
  authenticate(project: Project, token: string): Promise<User>;
}

/** JWTs that let a backend act for a user. A JWT created from a session ends with it. */
export function createTokens(deps: TokenDeps): Tokens {
  return bind(deps, { mint, authenticate });
}

async function mint(deps: TokenDeps, project: Project, account: UserRecord, session: Session | null, wishes: Wishes) {
  const { jwt, signingKeys } = deps;
  const { alg, duration, actingKey } = wishes;
  if (actingKey !== undefined && !project.settings['jwt.byKeys']) throw new Failure(...refusedToKeys);
  const key = await signingKeys.signing(project, alg);
  const user = {
    ...userOf(account, session ?? noSession(account.id)),
    ...(actingKey === undefined ? {} : { actingKey }),
  };
  for (const rolesTruncated of [false, true]) {
    const token = await jwt.sign(key, claimsOf(deps, project, user, duration, rolesTruncated));
    if (Buffer.byteLength(token) <= jwtLimits.bytes) return token;
  }
  throw new Failure('general_argument_invalid', {
    message: `The JWT would have more than ${jwtLimits.bytes} bytes: the user has too many teams or labels.`,
  });
}

const refusedToKeys = [
  'user_jwt_creation_denied',
  { message: 'The project does not let server keys make JWTs for users (setting jwt.byKeys).' },
] as const;

function userOf(account: UserRecord, session: Session): User {
  return { kind: 'user', id: account.id, account, session, via: 'jwt' };
}

/** The claims of a token; without the roles from teams if `rolesTruncated`. */
function claimsOf(deps: TokenDeps, project: Project, user: User, seconds: number, rolesTruncated: boolean): Claims {
  const { clock, random, config } = deps;
  const { account, session } = user;
  const iat = Math.floor(clock.now() / 1000);
  const roles = rolesOf(user).filter((role) => role !== 'any');
  return {
    iss: issuerOf(config, project),
    aud: project.id,
    sub: user.id,
    iat,
    exp: iat + seconds,
    sid: session.id,
    jti: `${random.id()}.${markOf(account, session.id)}`,
    projectId: project.id,
    userId: user.id,
    sessionId: session.id,
    email: account.email ?? '',
    emailVerification: account.emailVerification,
    teams: account.memberships.map(({ teamId }) => teamId),
    roles: rolesTruncated ? roles.filter((role) => !role.startsWith('team:') && !role.startsWith('member:')) : roles,
    ...(rolesTruncated ? { rolesTruncated: true as const } : {}),
    ...(user.actingKey === undefined ? {} : { act: { sub: `${actPrefix}${user.actingKey}` } }),
  };
}

/**
 * Binds a token to its session and the state of the user's password, without revealing either. The time of issue would not do: it has
 * whole seconds only.
 */
function markOf({ passwordUpdate }: UserRecord, sessionId: string): string {
  return digest(`${sessionId}\n${passwordUpdate ?? ''}`).slice(0, 22);
}

async function authenticate(deps: TokenDeps, project: Project, token: string): Promise<User> {
  const { jwt, config, sessions, signingKeys } = deps;
  const rules = {
    issuer: issuerOf(config, project),
    audience: project.id,
    requiredClaims: required,
    longestSeconds: jwtLimits.maxSeconds,
    toleranceSeconds: jwtLimits.toleranceSeconds,
  };
  const verified =
    token.length > jwtLimits.bytes
      ? undefined
      : await jwt.verify(token, rules, (kid) => signingKeys.verifying(project, kid));
  const { data: claims } = claimsShape.safeParse(verified);
  if (claims === undefined) throw new Failure('user_jwt_invalid');
  const { sub, sid, jti, exp, act } = claims;
  const actingKey = act?.sub.slice(actPrefix.length);
  if (actingKey !== undefined) await requireActing(deps, project, actingKey);
  const user =
    sid === '' ? await withoutSession(deps, project, sub) : await sessions.authenticateById(project, sub, sid);
  const mark = jti.split('.')[1] ?? '';
  // A password change invalidates the token even if its session continues.
  if (user === undefined || !equalDigests(mark, markOf(user.account, sid))) throw new Failure('user_jwt_invalid');
  return { ...user, expires: exp, ...(actingKey === undefined ? {} : { actingKey }) };
}

/**
 * Throws Failure `user_jwt_invalid` if the server key that created the token is no longer valid, or the project no longer lets server
 * keys create tokens.
 */
async function requireActing({ serverKeys }: TokenDeps, project: Project, keyId: string): Promise<void> {
  if (!project.settings['jwt.byKeys'] || !(await serverKeys.counts(project, keyId)))
    throw new Failure('user_jwt_invalid');
}

/** The user of a token that a server key created without a session. */
async function withoutSession({ db, users }: TokenDeps, project: Project, userId: string): Promise<User | undefined> {
  const account = await users.find(db, project.id, userId);
  if (account?.status === false) throw new Failure('user_blocked');
  return account && userOf(account, noSession(account.id));
}
