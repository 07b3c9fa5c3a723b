import type { User, WireActor } from '#src/contract/actor.js';
import { type ErrorType, Failure, sessionInvalid } from '#src/contract/errors.js';
import { type CredentialHeaders, credentialHeaders, projectHeader } from '#src/contract/headers.js';
import { actingOn } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Features } from '#src/features/index.js';
import type { Cookies } from './cookies.js';
import type { RequestLimit } from './limit.js';
import type { Origins } from './origins.js';
import type { RequestContext } from './request-context.js';

/** The credentials of a request, before anything is looked up. */
interface Claims {
  readonly key: string | undefined;
  readonly jwt: string | undefined;
  readonly session: string | undefined;
  readonly via: User['via'];
}

const guest = { kind: 'guest' } as const;
const guestOfEndedSession = { kind: 'guest', endedSession: true } as const;

/** Errors of an unknown key, JWT or project. */
const unknownCredentials: ReadonlySet<ErrorType> = new Set([
  'project_not_found',
  'general_unauthorized_scope',
  'project_key_expired',
  'user_jwt_invalid',
]);

const projectMissing = `The request names no project. Send the header ${projectHeader} (setProject in an SDK), or add ?project=ID to a link.`;

/** Finds the project and the actor of a request, which presents one of key, session and JWT at most. */
export function createAuthentication(
  { projects, serverKeys, sessions, tokens }: Pick<Features, 'projects' | 'serverKeys' | 'sessions' | 'tokens'>,
  { cookies, origins, limit }: { cookies: Cookies; origins: Origins; limit: RequestLimit },
  aliases: readonly string[],
) {
  const names: CredentialHeaders = credentialHeaders(aliases);
  /** The first header of a role that is not empty; SDKs send empty ones for what is not set. */
  const header = ({ req }: RequestContext, role: keyof CredentialHeaders): string | undefined => {
    for (const name of names[role]) {
      const value = req.headers[name];
      if (typeof value === 'string' && value !== '') return value;
    }
    return undefined;
  };
  const claims = (context: RequestContext, project: Project, jwt: string | undefined): Claims => {
    const fromHeader = header(context, 'session') ?? cookies.readFallback(context, project.id);
    const fromCookie = fromHeader === undefined ? cookies.read(context, project.id) : undefined;
    return {
      key: header(context, 'key'),
      jwt: header(context, 'jwt') ?? jwt,
      session: fromHeader ?? fromCookie,
      via: fromCookie === undefined ? 'header' : 'cookie',
    };
  };
  const identify = async (
    context: RequestContext,
    project: Project,
    { key, jwt, session, via }: Claims,
  ): Promise<WireActor> => {
    if (key !== undefined && (session !== undefined || jwt !== undefined))
      throw new Failure('user_api_key_and_session_set');
    if (jwt !== undefined && session !== undefined) throw new Failure('user_jwt_and_cookie_set');
    if (jwt !== undefined) return tokens.authenticate(project, jwt);
    if (key !== undefined) return serverKeys.authenticate(project, key);
    if (session === undefined) return guest;
    if (via === 'cookie') {
      const { form, reply } = context.operation?.declaration ?? {};
      const isOpened = form === true || reply?.kind === 'redirect';
      if (!isOpened) origins.demandOwn(context, header(context, 'project') !== undefined);
      else if (!(form ? origins.isOwnForm(context) : origins.isOwnNavigation(context))) return guest;
    }
    try {
      const user = await sessions.authenticate(project, session, via);
      if (user === undefined) limit.demandFewRefused(context);
      return user ?? guestOfEndedSession;
    } catch (error) {
      // A page cannot drop the cookie of a user who has been blocked since; another user must be able to log in from that browser.
      const takesGuests = context.operation?.declaration.auth.includes('guest') === true;
      if (takesGuests && error instanceof Failure && error.type === 'user_blocked') return guest;
      throw error;
    }
  };
  const countRefusal = (context: RequestContext, error: unknown): void => {
    if (error instanceof Failure && unknownCredentials.has(error.type)) limit.demandFewRefused(context);
  };
  return {
    /** The user behind a session secret that came in a message. Throws Failure. */
    bySecret: async (context: RequestContext, project: Project, secret: string): Promise<User> => {
      const user = await sessions.authenticate(project, secret, 'header');
      if (user === undefined) {
        limit.demandFewRefused(context);
        throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
      }
      if (user.session.pending) throw new Failure('user_more_factors_required');
      return user;
    },
    /** The project of the request; `?project=` serves URLs that a browser opens. Throws Failure `project_not_found`. */
    project: async (context: RequestContext): Promise<Project> => {
      const { ctx, params, operation } = context;
      const isInAddress = operation?.declaration.project === 'path' || operation?.declaration.project === 'callback';
      const named = isInAddress ? params.projectId : header(context, 'project');
      const id = named ?? [ctx.query.project].flat()[0];
      try {
        if (id === undefined || id === '')
          throw new Failure('project_not_found', isInAddress ? {} : { message: projectMissing });
        return await projects.current(id);
      } catch (error) {
        countRefusal(context, error);
        throw error;
      }
    },
    /**
     * Adds the actor, and the session secret that the caller holds, to the context. A JWT counts from elsewhere than a header where that is
     * given. Throws Failure.
     */
    actor: async (context: RequestContext, project: Project, jwt?: string): Promise<void> => {
      const presented = claims(context, project, jwt);
      const actor = await identify(context, project, presented).catch((error: unknown) => {
        countRefusal(context, error);
        throw error;
      });
      const { operation } = context;
      context.actor = operation === undefined ? actor : actingOn(operation.declaration, actor);
      context.presentedSession = presented.session ?? null;
    },
  };
}

/** Finds project and actor of requests. */
export type Authentication = ReturnType<typeof createAuthentication>;
