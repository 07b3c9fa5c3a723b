import Negotiator from 'negotiator';
import type { Failure } from '#src/contract/errors.js';
import { addressBelow } from '#src/contract/web-address.js';
import type { Config } from '#src/platform/config/schema.js';
import { escapeHtml } from '#src/platform/templates.js';
import type { RequestContext } from './request-context.js';

/** Pages of the service that show people how an address which their browser has opened has ended, where the application has no page for that. */
export function createResultPages({ baseUrl }: Pick<Config, 'baseUrl'>) {
  const pageOf = (name: 'failed' | 'done', context: RequestContext): URL | undefined => {
    const { project, operation, successPage } = context;
    if (project === undefined || operation?.declaration.reply.kind !== 'redirect') return undefined;
    if (!asksForPage(context)) return undefined;
    return addressBelow(baseUrl, `auth/${name}`, { project: project.id, success: successPage?.href ?? '' });
  };
  return {
    /** What a page of the service says that cannot be shown, such as that of an unknown project; undefined where the caller has not asked for a page. */
    unshown: (context: RequestContext, { status, message }: Failure): string | undefined => {
      if (context.operation?.declaration.reply.kind !== 'page' || !asksForPage(context)) return undefined;
      return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>${status}</title></head><body><h1>This page cannot be shown</h1><p>${escapeHtml(message)}</p></body></html>\n`;
    },
    /** The page for an error; undefined where the caller has not asked for a page. */
    failed: (context: RequestContext): URL | undefined => pageOf('failed', context),
    /** The page for a login that has succeeded; undefined likewise. */
    done: (context: RequestContext): URL | undefined => pageOf('done', context),
  };
}

/** Pages for results. */
export type ResultPages = ReturnType<typeof createResultPages>;

/** Whether the caller prefers HTML, as browsers do that open an address (RFC 9110 §12.5.1). */
export function asksForPage({ req }: RequestContext): boolean {
  return new Negotiator(req).mediaType(['application/json', 'text/html']) === 'text/html';
}
