import type { Asset } from '#src/contract/asset.js';
import { type HtmlPage, Redirect } from '#src/contract/browser.js';
import type { Declaration, Image } from '#src/contract/declaration.js';
import { EventStream } from '#src/contract/event-stream.js';
import { credentialHeaders, sessionHeaders } from '#src/contract/headers.js';
import type { Project } from '#src/contract/project.js';
import type { RawJson } from '#src/contract/raw-json.js';
import { WithSession } from '#src/contract/with-session.js';
import type { Runtime } from '#src/platform/index.js';
import { millisecondsOf } from '#src/platform/runtime/clock.js';
import { printJson } from '#src/platform/text/json.js';
import type { Cookies } from './cookies.js';
import type { RequestContext } from './request-context.js';
import type { ResultPages } from './result-pages.js';
import { pagePolicy } from './security-headers.js';

/** Writes the result of an operation to the response. */
export type ReplyWriter = (context: RequestContext, declaration: Declaration, result: unknown) => void;

/** Creates the writer of results. */
export function createReplyWriter(
  { clock, config }: Pick<Runtime, 'clock' | 'config'>,
  { cookies, resultPages }: { readonly cookies: Cookies; readonly resultPages: ResultPages },
): ReplyWriter {
  const sessionHeaderNames = sessionHeaders(config.headerAliases);
  const projectHeaders = credentialHeaders(config.headerAliases).project;
  /** Lets caches store the response. If a header selects the project, the response varies by it. */
  const allowCaching = ({ response }: RequestContext, { access: { project } }: Declaration, seconds: number) => {
    response.set('Cache-Control', `public, max-age=${seconds}`);
    if (project === undefined) response.vary(...projectHeaders);
  };
  const openSession = (context: RequestContext, project: Project, session: { secret: string; expire: string }) => {
    const life = Math.max(0, Math.floor((millisecondsOf(session.expire) - clock.now()) / 1000));
    cookies.open(context, project, session.secret, life);
  };
  /** Opens the renewed session. A caller that sent the old secret in a header gets the new one in the same header. */
  const renewSession = (context: RequestContext, project: Project, session: WithSession['session']) => {
    openSession(context, project, session);
    const { response, actor } = context;
    if (actor?.kind !== 'user' || actor.via !== 'header') return;
    for (const name of sessionHeaderNames) response.set(name, session.secret);
  };
  /** True if the request ends its own session. Ending another session must not clear the caller's cookie. */
  const endsOwnSession = ({ params, actor }: RequestContext): boolean => {
    const { sessionId } = params;
    return (
      sessionId === undefined || sessionId === 'current' || (actor?.kind === 'user' && actor.session.id === sessionId)
    );
  };
  /** Redirects a login to a page of the service if it names no page of the application and the browser asks for HTML. */
  const shown = (context: RequestContext, answer: unknown): unknown => {
    const page = answer instanceof Redirect ? undefined : resultPages.done(context);
    return page === undefined ? answer : new Redirect(page);
  };
  return (context, declaration, result) => {
    const { ctx, project } = context;
    const value = result instanceof WithSession ? shown(context, result.answer) : result;
    const { status, session, cacheSeconds } = declaration.reply;
    ctx.status = status;
    if (project !== undefined && session === 'opens')
      openSession(context, project, value as { secret: string; expire: string });
    if (project !== undefined && result instanceof WithSession) renewSession(context, project, result.session);
    if (project !== undefined && session === 'closes' && endsOwnSession(context)) cookies.close(context, project);
    if (value instanceof EventStream) {
      context.stream = value;
      return;
    }
    if (cacheSeconds !== undefined) allowCaching(context, declaration, cacheSeconds);
    writeBody(context, declaration, value);
  };
}

/** Writes the body as declared. The types of `implement` guarantee that the handler returns it. */
function writeBody(context: RequestContext, { reply, method }: Declaration, value: unknown): void {
  const { ctx, response } = context;
  const { shape } = reply;
  switch (shape.kind) {
    case 'empty':
      // Appwrite's Python SDK fails if this header is missing, and would parse a body declared as JSON.
      response.set('Content-Type', 'text/plain; charset=utf-8');
      response.body = [];
      break;
    case 'text':
      response.set('Content-Type', shape.contentType);
      response.body = [String(value)];
      break;
    case 'page':
      if (value instanceof Redirect) {
        ctx.status = 302;
        writeRedirect(response, value);
      } else if (isPage(value)) writePage(response, value);
      else writeJson(response, value);
      break;
    case 'image': {
      const { type, content } = value as Image;
      // Koa writes binary content.
      ctx.type = type;
      ctx.body = content;
      break;
    }
    case 'asset':
      writeAsset(response, value as Asset);
      break;
    case 'redirect':
      if (value instanceof Redirect) writeRedirect(response, value);
      else if (isPage(value)) {
        ctx.status = 200;
        writePage(response, value);
      } else {
        ctx.status = shape.otherwise?.status ?? ctx.status;
        writeJson(response, value);
      }
      break;
    case 'json':
      if (shape.raw !== true) writeJson(response, value);
      else if (isPage(value)) writePage(response, value);
      else {
        writeRawJson(context, value as RawJson);
        // Documents, the feed and OpenAPI descriptions contain neither input of the request nor secrets of the service.
        response.isCompressible = method === 'GET';
      }
  }
}

function writeRawJson(
  { ctx, response }: RequestContext,
  { parts, status, etag, mediaType = 'application/json' }: RawJson,
): void {
  response.set('Content-Type', `${mediaType}; charset=utf-8`);
  if (etag !== undefined) response.set('ETag', etag);
  response.body = parts;
  if (status !== undefined) ctx.status = status;
}

/** Answers with a page and its Content Security Policy. */
export function writePage(response: RequestContext['response'], page: HtmlPage): void {
  response.set('Content-Type', 'text/html; charset=utf-8');
  response.set('Content-Security-Policy', pagePolicy(page));
  // With `no-referrer` browsers also hide the origin of a form, which is needed to detect foreign forms.
  if (page.formTargets !== undefined) response.set('Referrer-Policy', 'same-origin');
  response.body = [page.html];
}

function writeRedirect(response: RequestContext['response'], { location }: Redirect): void {
  response.set('Location', location);
  response.body = [];
}

/** Answers with a file of a page. All browsers accept gzip, and the name contains a hash of the content. */
function writeAsset(response: RequestContext['response'], { type, gzip }: Asset): void {
  response.set('Content-Type', type);
  response.set('Content-Encoding', 'gzip');
  response.set('Cache-Control', `${response.get('Cache-Control')}, immutable`);
  response.body = gzip;
}

function writeJson(response: RequestContext['response'], value: unknown): void {
  response.set('Content-Type', 'application/json; charset=utf-8');
  response.body = [printJson(value)];
}

function isPage(value: unknown): value is HtmlPage {
  return typeof value === 'object' && value !== null && 'html' in value;
}
