import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import type { Declaration } from '#src/contract/declaration.js';
import { FileContent } from '#src/contract/file-content.js';
import { forwardedUserAgent, localeHeaders } from '#src/contract/headers.js';
import { bodySizes } from '#src/contract/limits.js';
import { invoke, type Operation, type RequestFacts } from '#src/contract/operation.js';
import type { Upload } from '#src/contract/upload.js';
import type { Runtime } from '#src/platform/index.js';
import type { Authentication } from './authenticate.js';
import { readBody } from './body.js';
import { type BodyBudget, createBodyBudget } from './body-budget.js';
import { isLocal } from './client-address.js';
import type { Cookies } from './cookies.js';
import { acceptsEventStream } from './event-stream.js';
import type { FileReply } from './file-reply.js';
import type { RunOnce } from './idempotency.js';
import type { RequestLimit } from './limit.js';
import type { OriginChecks } from './origins.js';
import { createQueryReader, type QueryReader } from './query.js';
import { RequestReading } from './reading.js';
import type { ReplyWriter } from './reply.js';
import type { Middleware, RequestContext } from './request-context.js';
import { asksForPage } from './result-pages.js';
import { createUploadReader } from './upload.js';

interface Given {
  readonly authentication: Authentication;
  readonly cookies: Cookies;
  readonly files: FileReply;
  readonly limit: RequestLimit;
  readonly once: RunOnce;
  readonly origins: OriginChecks;
  readonly reply: ReplyWriter;
}

interface Deps extends Given, Pick<Runtime, 'config' | 'budgets'> {
  readonly bodyBudget: (ip: string) => BodyBudget;
  readonly queryReaders: ReadonlyMap<Operation, QueryReader>;
  readonly localeNames: readonly string[];
  readonly uploadOf: (request: IncomingMessage, caller: () => string) => Upload;
}

const guest = { kind: 'guest' } as const;

/** Runs the operation found by routing and writes its reply. The order of the checks matters for security. */
export function createOperationMiddleware(
  { config, budgets }: Pick<Runtime, 'config' | 'budgets'>,
  operations: readonly Operation[],
  given: Given,
): Middleware {
  const deps: Deps = {
    ...given,
    config,
    budgets,
    bodyBudget: createBodyBudget(),
    queryReaders: new Map(operations.map((one) => [one, createQueryReader(one.declaration.input?.query)])),
    localeNames: localeHeaders(config.headerAliases),
    uploadOf: createUploadReader(config.headerAliases),
  };
  return ({ state: { context } }) => runOperation(deps, context);
}

async function runOperation(deps: Deps, context: RequestContext): Promise<void> {
  const { operation } = context;
  if (operation === undefined) return;
  const { declaration } = operation;
  const { method, input } = declaration;
  await admit(deps, context, declaration);
  const share = method === 'GET' || input?.upload ? undefined : deps.bodyBudget(context.ip);
  const bounds = { maxBytes: bodyBytes(deps, declaration), form: input?.form === true };
  try {
    const body = share && (await readBody(context.req, bounds, share));
    const result = await invoke(deps.once(context, operation), {
      project: context.project,
      actor: context.actor ?? guest,
      params: context.params,
      query: readQuery(deps, context, operation),
      body,
      request: requestFacts(deps, context, declaration),
    });
    if (result instanceof FileContent) await deps.files.prepare(context, result, new RequestReading(context).account);
    else deps.reply(context, declaration, operation.present === undefined ? result : operation.present(result));
  } finally {
    share?.release();
  }
}

/** Resolves the project and the caller, and counts the call. Throws Failure if the origin, the credentials or a limit refuse it. */
async function admit(deps: Deps, context: RequestContext, declaration: Declaration): Promise<void> {
  const { authentication, limit, origins } = deps;
  const { project, readableByPlatforms } = declaration.access;
  if (project === 'callback') return admitCallback(deps, context);
  if (project !== undefined) limit.requireOperation(context);
  if (project === 'path') origins.admitAnybody(context);
  if (project !== false) context.project = await authentication.project(context);
  else if (readableByPlatforms) await origins.admitWithoutProject(context);
  if (project !== undefined || context.project === undefined) return;
  if (declaration.reply.shape.kind === 'redirect') origins.leadErrors(context, context.project);
  origins.admit(context);
  origins.requireForSession(context, declaration);
  await authentication.actor(context, context.project);
  const counted = limit.consume(context);
  if (counted !== undefined) await counted;
}

/** Admits a browser that another site redirects back. The caller is a guest; the session cookie is only used to end that session. */
async function admitCallback({ authentication, cookies, limit }: Deps, context: RequestContext): Promise<void> {
  const project = await authentication.project(context);
  context.project = project;
  context.actor = guest;
  context.presentedSession = cookies.read(context, project.id) ?? null;
  await limit.consume(context);
}

function bodyBytes({ config }: Deps, { limits: { bodyBytes: declared } }: Declaration): number {
  if (declared === undefined) return Math.min(bodySizes.account, config.bodyMaxBytes);
  return declared === 'setting' ? config.bodyMaxBytes : declared;
}

function readQuery({ queryReaders }: Deps, { ctx, req }: RequestContext, operation: Operation) {
  return req.url?.includes('?') ? (queryReaders.get(operation)?.(ctx.querystring) ?? {}) : {};
}

function requestFacts(deps: Deps, context: RequestContext, declaration: Declaration): RequestFacts {
  const { budgets, cookies, limit, uploadOf } = deps;
  const reading = new RequestReading(context);
  const budget = budgets.open(reading);
  context.budget = budget;
  return {
    id: context.requestId,
    waits: context.waits,
    ip: context.ip,
    userAgent: userAgentOf(context),
    presentedSession: context.presentedSession,
    locale: localeOf(deps, context),
    isLocal: isLocal(context.req),
    reading,
    charge: (calls, tooMany) => limit.charge(context, calls, tooMany),
    prefersPage: () => asksForPage(context),
    mediaType: preferredType(context, declaration),
    eventStream: acceptsEventStream(context) ? { lastEventId: lastEventIdOf(context) } : undefined,
    ifMatch: context.req.headers['if-match'],
    upload: declaration.input?.upload ? uploadOf(context.req, () => reading.account) : undefined,
    budget,
    browser: {
      leadErrorsTo: (page) => {
        context.failurePage = page;
      },
      showErrorAs: (page) => {
        context.errorPage = page;
      },
      endAt: (page) => {
        context.successPage = page;
      },
      bind: (binding) => cookies.bind(context, binding),
      takeBinding: (id) => cookies.takeBinding(context, id),
    },
  };
}

/** A language tag (RFC 5646) of reasonable length; other values are ignored. */
const languageTag = /^[a-z]{2,3}(-[a-z0-9]{1,8}){0,4}$/i;

/** The requested language: first the header of the SDKs, then `Accept-Language` (RFC 9110 §12.5.4). */
function localeOf({ localeNames }: Deps, { req: { headers } }: RequestContext): string | null {
  const name = localeNames.find((each) => typeof headers[each] === 'string' && headers[each] !== '');
  if (name === undefined && headers['accept-language'] === undefined) return null;
  const requested = name === undefined ? new Negotiator({ headers }).languages()[0] : headers[name];
  return typeof requested === 'string' && languageTag.test(requested) ? requested : null;
}

/** The declared media type if the caller prefers it to `application/json`. */
function preferredType({ req }: RequestContext, { reply: { mediaType } }: Declaration): string | undefined {
  if (mediaType === undefined) return undefined;
  const types = ['application/json', mediaType];
  // Clients may send a charset parameter, which only matches a type with the same parameter.
  const preferred = new Negotiator(req).mediaType(types.flatMap((type) => [type, `${type}; charset=utf-8`]));
  return preferred?.startsWith(mediaType) ? mediaType : undefined;
}

function lastEventIdOf({ req }: RequestContext): string | null {
  const id = req.headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}

/** The user agent of the browser. Server keys forward the one of the browser that they act for. */
function userAgentOf({ ctx, req, actor }: RequestContext): string {
  return (actor?.kind === 'key' && ctx.get(forwardedUserAgent)) || (req.headers['user-agent'] ?? '');
}
