import type { User, WireActor } from '#src/contract/actor.js';
import { type ErrorType, Failure, sessionInvalid } from '#src/contract/errors.js';
import { type CredentialHeaders, credentialHeaders, projectHeader } from '#src/contract/headers.js';
import { actingOn } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { Features } from '#src/features/index.js';
import { bind } from '#src/platform/runtime/bind.js';
import type { Cookies } from './cookies.js';
import type { RequestLimit } from './limit.js';
import type { OriginChecks } from './origins.js';
import { firstParameter } from './query.js';
import type { RequestContext } from './request-context.js';

/** The credentials in a request, before any lookup. */
interface Claims {
  readonly key: string | undefined;
  readonly jwt: string | undefined;
  readonly session: string | undefined;
  readonly via: User['via'];
}

const guest = { kind: 'guest' } as const;
const guestOfEndedSession = { kind: 'guest', endedSession: true } as const;

/** Errors for an unknown key, JWT or project. */
const unknownCredentials: ReadonlySet<ErrorType> = new Set([
  'project_not_found',
  'general_unauthorized_scope',
  'project_key_expired',
  'user_jwt_invalid',
]);

const projectMissing = `The request names no project. Send the header ${projectHeader} (setProject in an SDK), or add ?project=ID to a link.`;

/** Resolves the project and the actor of requests. */
export interface Authentication {
  /** Resolves the user of a session secret sent in a socket message. Throws Failure. */
  bySecret(context: RequestContext, project: Project, secret: string): Promise<User>;
  /** Resolves the project of the request; `?project=` serves URLs opened in a browser. Throws Failure `project_not_found`. */
  project(context: RequestContext): Promise<Project>;
  /** Sets the actor and the presented session secret in the context. `jwt` is used if no header carries a JWT. Throws Failure. */
  actor(context: RequestContext, project: Project, jwt?: string): Promise<void>;
}

interface Given {
  readonly cookies: Cookies;
  readonly origins: OriginChecks;
  readonly limit: RequestLimit;
}

interface Deps extends Given, Pick<Features, 'projects' | 'serverKeys' | 'sessions' | 'tokens'> {
  readonly names: CredentialHeaders;
}

/** Resolves the project and the actor of a request. A request may present one credential: a key, a session or a JWT. */
export function createRequestAuthentication(
  { projects, serverKeys, sessions, tokens }: Pick<Features, 'projects' | 'serverKeys' | 'sessions' | 'tokens'>,
  given: Given,
  aliases: readonly string[],
): Authentication {
  const deps: Deps = { ...given, projects, serverKeys, sessions, tokens, names: credentialHeaders(aliases) };
  return bind(deps, { bySecret, project: resolveProject, actor: resolveActor });
}

async function bySecret({ sessions, limit }: Deps, context: RequestContext, project: Project, secret: string) {
  const user = await sessions.authenticate(project, secret, 'header');
  if (user === undefined) {
    limit.requireFewRefused(context);
    throw new Failure('general_unauthorized_scope', { message: sessionInvalid });
  }
  if (user.session.pending) throw new Failure('user_more_factors_required');
  return user;
}

async function resolveProject(deps: Deps, context: RequestContext): Promise<Project> {
  const { ctx, params, operation } = context;
  const { project } = operation?.declaration.access ?? {};
  const isInAddress = project === 'path' || project === 'callback';
  const inQuery = firstParameter(ctx.querystring, 'project');
  const inHeader = header(deps, context, 'project');
  // For URLs registered with third parties, the project in the path or query wins; a header is only the fallback.
  const id = isInAddress ? (params.projectId ?? inQuery ?? inHeader) : (inHeader ?? inQuery);
  try {
    if (id === undefined || id === '')
      throw new Failure('project_not_found', isInAddress ? {} : { message: projectMissing });
    return await deps.projects.current(id);
  } catch (error) {
    countRefusal(deps, context, error);
    throw error;
  }
}

/** The first non-empty header for a credential. SDKs send empty headers for values that are not set. */
function header({ names }: Deps, { req }: RequestContext, role: keyof CredentialHeaders): string | undefined {
  for (const name of names[role]) {
    const value = req.headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

function countRefusal({ limit }: Deps, context: RequestContext, error: unknown): void {
  if (error instanceof Failure && unknownCredentials.has(error.type)) limit.requireFewRefused(context);
}

async function resolveActor(deps: Deps, context: RequestContext, project: Project, jwt?: string): Promise<void> {
  const presented = claims(deps, context, project, jwt);
  const actor = await identify(deps, context, project, presented).catch((error: unknown) => {
    countRefusal(deps, context, error);
    throw error;
  });
  const { operation } = context;
  context.actor = operation === undefined ? actor : actingOn(operation.declaration, actor);
  context.presentedSession = presented.session ?? null;
}

function claims(deps: Deps, context: RequestContext, project: Project, jwt: string | undefined): Claims {
  const { cookies } = deps;
  const fromHeader = header(deps, context, 'session') ?? cookies.readFallback(context, project.id);
  const fromCookie = fromHeader === undefined ? cookies.read(context, project.id) : undefined;
  return {
    key: header(deps, context, 'key'),
    jwt: header(deps, context, 'jwt') ?? jwt,
    session: fromHeader ?? fromCookie,
    via: fromCookie === undefined ? 'header' : 'cookie',
  };
}

async function identify(deps: Deps, context: RequestContext, project: Project, presented: Claims): Promise<WireActor> {
  const { origins, serverKeys, sessions, tokens, limit } = deps;
  const { key, jwt, session, via } = presented;
  if (key !== undefined && (session !== undefined || jwt !== undefined))
    throw new Failure('user_api_key_and_session_set');
  if (jwt !== undefined && session !== undefined) throw new Failure('user_jwt_and_cookie_set');
  if (jwt !== undefined) return tokens.authenticate(project, jwt);
  if (key !== undefined) return serverKeys.authenticate(project, key);
  if (session === undefined) return guest;
  const { input, reply, access } = context.operation?.declaration ?? {};
  // A page with `orRedirect` only shows the caller's account; no other site can read or frame it.
  if (via === 'cookie' && reply?.orRedirect !== true) {
    const isOpened = input?.form === true || reply?.shape.kind === 'redirect';
    if (!isOpened) origins.requireOwn(context, header(deps, context, 'project') !== undefined);
    else if (!(input?.form ? origins.isOwnForm(context) : origins.isOwnNavigation(context))) return guest;
  }
  try {
    const user = await sessions.authenticate(project, session, via);
    if (user === undefined) limit.requireFewRefused(context);
    return user ?? guestOfEndedSession;
  } catch (error) {
    // Scripts cannot delete the session cookie of a blocked user. Without this, no other user could log in from that browser.
    if (access?.auth.includes('guest') && error instanceof Failure && error.type === 'user_blocked') return guest;
    throw error;
  }
}
