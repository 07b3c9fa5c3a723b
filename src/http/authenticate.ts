import type { ServerKey, User, WireActor } from '#src/contract/actor.js';
import { Failure } from '#src/contract/errors.js';
import { type CredentialHeaders, credentialHeaders } from '#src/contract/headers.js';
import { actingOn } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Features } from '#src/features/index.js';
import type { Cookies } from './cookies.js';
import type { Exchange } from './exchange.js';
import type { Origins } from './origins.js';

/** What a request claims before anything is looked up. */
interface Claims {
  readonly key: string | undefined;
  readonly jwt: string | undefined;
  readonly session: string | undefined;
  readonly via: User['via'];
}

const guest = { kind: 'guest' } as const;

/** Finds out which project a request is for and who makes it. Exactly one of key, session and JWT counts. */
export function createAuthentication(
  { projects, serverKeys, sessions, tokens }: Pick<Features, 'projects' | 'serverKeys' | 'sessions' | 'tokens'>,
  cookies: Cookies,
  origins: Origins,
  aliases: readonly string[],
) {
  const names: CredentialHeaders = credentialHeaders(aliases);
  /** The first filled header of a role; SDKs send an empty one where nothing is set. */
  const header = ({ req }: Exchange, role: keyof CredentialHeaders): string | undefined => {
    for (const name of names[role]) {
      const value = req.headers[name];
      if (typeof value === 'string' && value !== '') return value;
    }
    return undefined;
  };
  const claims = (exchange: Exchange, project: Project): Claims => {
    const fromHeader = header(exchange, 'session') ?? cookies.readFallback(exchange, project.id);
    const fromCookie = fromHeader === undefined ? cookies.read(exchange, project.id) : undefined;
    return {
      key: header(exchange, 'key'),
      jwt: header(exchange, 'jwt'),
      session: fromHeader ?? fromCookie,
      via: fromCookie === undefined ? 'header' : 'cookie',
    };
  };
  const identify = async (
    exchange: Exchange,
    project: Project,
    { key, jwt, session, via }: Claims,
  ): Promise<WireActor> => {
    if (key !== undefined && (session !== undefined || jwt !== undefined))
      throw new Failure('user_api_key_and_session_set');
    if (jwt !== undefined && session !== undefined) throw new Failure('user_jwt_and_cookie_set');
    if (jwt !== undefined) return tokens.authenticate(project, jwt);
    if (key !== undefined) return serverKeys.authenticate(project, key);
    if (session === undefined) return guest;
    if (via === 'cookie') origins.demandOwn(exchange, header(exchange, 'project') !== undefined);
    try {
      return (await sessions.authenticate(project, session, via)) ?? guest;
    } catch (error) {
      // A page cannot drop the cookie of a user who was blocked meanwhile; somebody else must be able to log in from that browser.
      const takesGuests = exchange.operation?.declaration.auth.includes('guest') === true;
      if (takesGuests && error instanceof Failure && error.type === 'user_blocked') return guest;
      throw error;
    }
  };
  return {
    /** The project of the request; `?project=` serves URLs that a browser opens. Throws Failure `project_not_found`. */
    project: (exchange: Exchange): Promise<Project> => {
      const { ctx, params, operation } = exchange;
      const id =
        operation?.declaration.project === 'path'
          ? params.projectId
          : (header(exchange, 'project') ?? [ctx.query.project].flat()[0]);
      if (id === undefined || id === '') throw new Failure('project_not_found');
      return projects.current(id);
    },
    /** The actor, and the session secret the caller holds. Throws Failure. */
    actor: async (
      exchange: Exchange,
      project: Project,
    ): Promise<{ actor: WireActor | ServerKey; presentedSession: string | null }> => {
      const claimed = claims(exchange, project);
      const known = await identify(exchange, project, claimed);
      const { operation } = exchange;
      const actor = operation === undefined ? known : actingOn(operation.declaration, known);
      return { actor, presentedSession: claimed.session ?? null };
    },
  };
}
