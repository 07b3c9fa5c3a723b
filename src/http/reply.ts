import { Redirect } from '#src/contract/browser.js';
import { EventStream } from '#src/contract/event-stream.js';
import { credentialHeaders, sessionHeaders } from '#src/contract/headers.js';
import type { Declaration, Image, Page } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import type { RawJson } from '#src/contract/raw-json.js';
import { WithSession } from '#src/contract/with-session.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Runtime } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import type { Cookies } from './cookies.js';
import type { RequestContext } from './request-context.js';
import type { ResultPages } from './result-pages.js';
import { pagePolicy } from './security-headers.js';

/** Answers with the result of an operation. */
export function createReply(
  { clock, config }: Pick<Runtime, 'clock' | 'config'>,
  { cookies, resultPages }: { readonly cookies: Cookies; readonly resultPages: ResultPages },
) {
  const sessionHeaderNames = sessionHeaders(config.headerAliases);
  const projectHeaders = credentialHeaders(config.headerAliases).project;
  /** Lets caches keep the response; where a header names the project, one address has a response for each. */
  const allowCaching = ({ response }: RequestContext, { project }: Declaration, seconds: number) => {
    response.set('Cache-Control', `public, max-age=${seconds}`);
    if (project === undefined) response.set('Vary', [response.get('Vary'), ...projectHeaders].join(', '));
  };
  const openSession = (context: RequestContext, project: Project, session: { secret: string; expire: string }) => {
    const life = Math.max(0, Math.floor((millisecondsOf(session.expire) - clock.now()) / 1000));
    cookies.open(context, project, session.secret, life);
  };
  /** A caller that sent the old secret in a header finds the new one in the same header. */
  const renewSession = (context: RequestContext, project: Project, session: WithSession['session']) => {
    openSession(context, project, session);
    const { response, actor } = context;
    if (actor?.kind !== 'user' || actor.via !== 'header') return;
    for (const name of sessionHeaderNames) response.set(name, session.secret);
  };
  /** Ending another session than the one of this request leaves the caller's cookie alone. */
  const endsOwnSession = ({ params, actor }: RequestContext): boolean => {
    const { sessionId } = params;
    return (
      sessionId === undefined || sessionId === 'current' || (actor?.kind === 'user' && actor.session.id === sessionId)
    );
  };
  /** A login that leads to no page of the application ends at one of the service, where a browser asks for a page. */
  const shown = (context: RequestContext, answer: unknown): unknown => {
    const page = answer instanceof Redirect ? undefined : resultPages.done(context);
    return page === undefined ? answer : new Redirect(page);
  };
  return {
    write: (context: RequestContext, declaration: Declaration, result: unknown): void => {
      const { ctx, project } = context;
      const value = result instanceof WithSession ? shown(context, result.answer) : result;
      ctx.status = declaration.status;
      if (project !== undefined && declaration.session === 'opens')
        openSession(context, project, value as { secret: string; expire: string });
      if (project !== undefined && result instanceof WithSession) renewSession(context, project, result.session);
      if (project !== undefined && declaration.session === 'closes' && endsOwnSession(context))
        cookies.close(context, project);
      if (value instanceof EventStream) {
        context.stream = value;
        return;
      }
      if (declaration.cacheSeconds !== undefined) allowCaching(context, declaration, declaration.cacheSeconds);
      writeBody(context, declaration, value);
    },
  };
}

/** Answers with results of operations. */
export type Reply = ReturnType<typeof createReply>;

/** Writes the body that the declaration says; the types of `implement` have checked that the handler returns it. */
function writeBody({ ctx, response }: RequestContext, { reply }: Declaration, value: unknown): void {
  switch (reply.kind) {
    case 'empty':
      response.body = [];
      break;
    case 'text':
      response.set('Content-Type', reply.contentType);
      response.body = [String(value)];
      break;
    case 'page': {
      if (!isPage(value)) {
        writeJson(response, value);
        break;
      }
      writePage(response, value);
      break;
    }
    case 'image': {
      const { type, content } = value as Image;
      // Koa writes what is no text.
      ctx.type = type;
      ctx.body = content;
      break;
    }
    case 'redirect':
      if (value instanceof Redirect) {
        response.set('Location', value.location);
        response.body = [];
        break;
      }
      ctx.status = reply.otherwise?.status ?? ctx.status;
      writeJson(response, value);
      break;
    case 'json': {
      if (reply.raw !== true) {
        writeJson(response, value);
        break;
      }
      if (isPage(value)) {
        writePage(response, value);
        break;
      }
      const { parts, status, etag, mediaType = 'application/json' } = value as RawJson;
      response.set('Content-Type', `${mediaType}; charset=utf-8`);
      if (etag !== undefined) response.set('ETag', etag);
      response.body = parts;
      if (status !== undefined) ctx.status = status;
    }
  }
}

function writePage(response: RequestContext['response'], page: Page): void {
  response.set('Content-Type', 'text/html; charset=utf-8');
  response.set('Content-Security-Policy', pagePolicy(page));
  // Without a referrer a browser hides the origin of a form too, by which it is told from a foreign one.
  if (page.formTargets !== undefined) response.set('Referrer-Policy', 'same-origin');
  response.body = [page.html];
}

function writeJson(response: RequestContext['response'], value: unknown): void {
  response.set('Content-Type', 'application/json; charset=utf-8');
  response.body = [printJson(value)];
}

function isPage(value: unknown): value is Page {
  return typeof value === 'object' && value !== null && 'html' in value;
}
