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
import { digest, equalDigests } from '#src/platform/digest.js';
import type { Runtime } from '#src/platform/index.js';
import type { ServerKeys } from '../../installation/index.js';
import { noSession, type Sessions } from '../sessions/index.js';
import { issuerOf, type SigningKeys, type tokenClaims } from '../signing-keys/index.js';
import type { Users } from '../users/index.js';

/** How the claim `act` (RFC 8693 §4.1) begins: a server key acts for the user. */
const actPrefix = 'key:';

/** What of a token is looked at after its signature. */
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
type Deps = Pick<Runtime, 'db' | 'clock' | 'random' | 'jwt' | 'config'>;

interface TokenDeps {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly signingKeys: SigningKeys;
  readonly serverKeys: ServerKeys;
}

/** JWTs by which a backend acts for a user: made from a session, and worth something for as long as that lives. */
export function createTokens(
  { db, clock, random, jwt, config }: Deps,
  { users, sessions, signingKeys, serverKeys }: TokenDeps,
) {
  /** Binds a token to its session and to the state of the user's password, and says nothing of it; the time of issue is to the second only. */
  const markOf = ({ passwordUpdate }: UserRecord, sessionId: string) =>
    digest(`${sessionId}\n${passwordUpdate ?? ''}`).slice(0, 22);
  const userOf = (account: UserRecord, session: Session): User => ({
    kind: 'user',
    id: account.id,
    account,
    session,
    via: 'jwt',
  });

  /** The claims of a token, on demand without the roles that come from teams. */
  const claimsOf = (project: Project, user: User, seconds: number, rolesTruncated: boolean): Claims => {
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
  };
  /** Ends with its key what a server key does for users. Throws Failure `user_jwt_invalid`. */
  const demandActing = async (project: Project, keyId: string): Promise<void> => {
    if (!project.settings['jwt.byKeys'] || !(await serverKeys.counts(project, keyId)))
      throw new Failure('user_jwt_invalid');
  };
  /** The user of a token that a server key had made without a session. */
  const withoutSession = async (project: Project, userId: string): Promise<User | undefined> => {
    const account = await users.find(db, project.id, userId);
    if (account?.status === false) throw new Failure('user_blocked');
    return account && userOf(account, noSession(account.id));
  };

  return {
    /**
     * A token for a user, bound to one of the user's sessions where there is one. Where it would be too large it has no roles that come from
     * teams, and says so by `rolesTruncated`. One that a server key makes names it in `act`. Not inside a unit of work. Throws Failure
     * `general_argument_invalid` where that is too large too, and `user_jwt_creation_denied` where the project refuses it to server keys.
     */
    mint: async (
      project: Project,
      account: UserRecord,
      session: Session | null,
      wishes: { readonly alg: SigningAlgorithm; readonly duration: number; readonly actingKey?: string },
    ): Promise<string> => {
      const { alg, duration, actingKey } = wishes;
      if (actingKey !== undefined && !project.settings['jwt.byKeys']) throw new Failure(...refusedToKeys);
      const key = await signingKeys.signing(project, alg);
      const user = {
        ...userOf(account, session ?? noSession(account.id)),
        ...(actingKey === undefined ? {} : { actingKey }),
      };
      for (const rolesTruncated of [false, true]) {
        const token = await jwt.sign(key, claimsOf(project, user, duration, rolesTruncated));
        if (Buffer.byteLength(token) <= jwtLimits.bytes) return token;
      }
      throw new Failure('general_argument_invalid', {
        message: `The JWT would have more than ${jwtLimits.bytes} bytes: the user has too many teams or labels.`,
      });
    },
    /** The user behind a token, as the user is now. Throws Failure `user_jwt_invalid` and `user_blocked`. */
    authenticate: async (project: Project, token: string): Promise<User> => {
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
      if (actingKey !== undefined) await demandActing(project, actingKey);
      const user = sid === '' ? await withoutSession(project, sub) : await sessions.authenticateById(project, sub, sid);
      const mark = jti.split('.')[1] ?? '';
      // A token ends with the password of its time, also where its session goes on.
      if (user === undefined || !equalDigests(mark, markOf(user.account, sid))) throw new Failure('user_jwt_invalid');
      return { ...user, expires: exp, ...(actingKey === undefined ? {} : { actingKey }) };
    },
  };
}

const refusedToKeys = [
  'user_jwt_creation_denied',
  { message: 'The project does not let server keys make JWTs for users (setting jwt.byKeys).' },
] as const;

/** The tokens service. */
export type Tokens = ReturnType<typeof createTokens>;
