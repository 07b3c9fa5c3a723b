import Negotiator from 'negotiator';
import type { HtmlPage } from '#src/contract/browser.js';
import type { Failure } from '#src/contract/errors.js';
import { addressBelow } from '#src/contract/web-address.js';
import { hostedErrorAddress, linkTo } from '#src/features/index.js';
import { isOnLocalhost } from '#src/platform/config/localhost.js';
import type { Runtime } from '#src/platform/index.js';
import type { RequestContext } from './request-context.js';

/** Pages that show results. */
export interface ResultPages {
  /** The page for an error of a page, such as one of an unknown project; undefined if the caller did not ask for HTML. */
  unshown(context: RequestContext, failure: Failure): Promise<HtmlPage> | undefined;
  /** The page for an error; undefined if the caller did not ask for HTML. */
  failed(context: RequestContext): URL | undefined;
  /** Address of a page that shows an error. Browsers keep it in their history, so it contains no secrets. */
  errorAddress(page: URL, failure: Failure): string;
  /** The page for a successful login; undefined if the caller did not ask for HTML. */
  done(context: RequestContext): URL | undefined;
}

/** Explanations for visitors by status. */
const explanations: Readonly<Record<number, string>> = {
  429: 'There were too many attempts. Wait a few minutes, then try again.',
  503: 'The service is not available right now. Try again in a moment.',
};
const otherwise = 'The address is incomplete or not valid. Go back to the application and try again.';

/** Advice for developers by type of error. */
const fixes: Readonly<Record<string, string>> = {
  project_not_found: 'Set the parameter project of the address to an id that “svc project list” shows.',
  general_argument_invalid:
    'Addresses of the application must be on a platform of the project: svc platform add --project ID --hostname HOST.',
};

/** Pages of the service that show the result of a link opened in a browser, if the application has no page for it. */
export function createResultPages({ config, pages }: Pick<Runtime, 'config' | 'pages'>): ResultPages {
  const { baseUrl } = config;
  const pageOf = (name: 'failed' | 'done', context: RequestContext): URL | undefined => {
    const { project, operation, successPage } = context;
    if (project === undefined || operation?.declaration.reply.shape.kind !== 'redirect') return undefined;
    if (!asksForPage(context)) return undefined;
    return addressBelow(baseUrl, `auth/${name}`, { project: project.id, success: successPage?.href ?? '' });
  };
  return {
    unshown: (context, failure) => {
      if (context.operation?.declaration.reply.shape.kind !== 'page' || !asksForPage(context)) return undefined;
      const { status, type, message } = failure;
      const advice = isOnLocalhost(baseUrl) ? `${message} ${fixes[type] ?? ''}`.trim() : '';
      return pages.render('unshown', { explanation: explanations[status] ?? otherwise, advice });
    },
    failed: (context) => pageOf('failed', context),
    errorAddress: (page, failure) => {
      const { message, type, status: code } = failure;
      return (
        hostedErrorAddress(baseUrl, page, failure) ?? linkTo(page, { error: JSON.stringify({ message, type, code }) })
      );
    },
    done: (context) => pageOf('done', context),
  };
}

/** True if the caller prefers HTML, like a browser that opens a URL (RFC 9110 §12.5.1). */
export function asksForPage({ req }: RequestContext): boolean {
  return new Negotiator(req).mediaType(['application/json', 'text/html']) === 'text/html';
}
