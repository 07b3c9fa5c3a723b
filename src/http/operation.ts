import Negotiator from 'negotiator';
import { FileContent } from '#src/contract/file-content.js';
import { forwardedUserAgent } from '#src/contract/headers.js';
import { type Declaration, invoke, type Operation, type RequestFacts } from '#src/contract/operation.js';
import type { Runtime } from '#src/platform/index.js';
import type { Authentication } from './authenticate.js';
import { readBody } from './body.js';
import { createBodyRoom } from './body-room.js';
import { isLocal } from './client-address.js';
import type { Cookies } from './cookies.js';
import { acceptsEventStream } from './event-stream.js';
import type { FileReply } from './file-reply.js';
import type { createOnce } from './idempotency.js';
import type { RequestLimit } from './limit.js';
import { createLocale } from './locale.js';
import type { Origins } from './origins.js';
import { createQueryReader, type QueryReader } from './query.js';
import { RequestReading } from './reading.js';
import type { Reply } from './reply.js';
import type { Middleware, RequestContext } from './request-context.js';
import { asksForPage } from './result-pages.js';
import { createUploads } from './upload.js';

interface Deps {
  readonly authentication: Authentication;
  readonly cookies: Cookies;
  readonly files: FileReply;
  readonly limit: RequestLimit;
  readonly once: ReturnType<typeof createOnce>;
  readonly origins: Origins;
  readonly reply: Reply;
}

const guest = { kind: 'guest' } as const;

/** Runs the operation that routing has found, in the order that security demands, and writes its reply. */
export function createOperationMiddleware(
  { config, answers }: Pick<Runtime, 'config' | 'answers'>,
  operations: readonly Operation[],
  { authentication, cookies, files, limit, once, origins, reply }: Deps,
): Middleware {
  const bodyRoom = createBodyRoom();
  const uploadOf = createUploads(config.headerAliases);
  const locale = createLocale(config.headerAliases);
  const queryReaders = new Map<Operation, QueryReader>(
    operations.map((operation) => [operation, createQueryReader(operation.declaration.query)]),
  );

  /** A browser that another site sends back: it counts by what it brings, and what session it held is known only to be ended. */
  const admitCallback = async (context: RequestContext): Promise<void> => {
    const project = await authentication.project(context);
    context.project = project;
    context.actor = guest;
    context.presentedSession = cookies.read(context, project.id) ?? null;
    await limit.demand(context);
  };
  /** Finds the project and the caller, and counts the call. Throws Failure where origin, credentials or limits refuse it. */
  const admit = async (context: RequestContext, declaration: Declaration): Promise<void> => {
    if (declaration.project === 'callback') return admitCallback(context);
    if (declaration.project !== undefined) limit.demandOperation(context);
    if (declaration.project === 'path') origins.admitAnybody(context);
    if (declaration.project !== false) context.project = await authentication.project(context);
    else if (declaration.readableByPlatforms) await origins.admitWithoutProject(context);
    if (declaration.project !== undefined || context.project === undefined) return;
    if (declaration.reply.kind === 'redirect') origins.leadErrors(context, context.project);
    origins.admit(context);
    origins.demandForSession(context, declaration);
    await authentication.actor(context, context.project);
    const counted = limit.demand(context);
    if (counted !== undefined) await counted;
  };
  const readQuery = ({ ctx, req }: RequestContext, operation: Operation) =>
    req.url?.includes('?') ? (queryReaders.get(operation)?.(ctx.querystring) ?? {}) : {};
  const requestFacts = (context: RequestContext, declaration: Declaration): RequestFacts => {
    const reading = new RequestReading(context);
    const room = answers.open(reading);
    context.room = room;
    return {
      id: context.requestId,
      waits: context.waits,
      ip: context.ip,
      userAgent: userAgentOf(context),
      presentedSession: context.presentedSession,
      locale: locale(context.req),
      isLocal: isLocal(context.req),
      reading,
      charge: (calls, tooMany) => limit.charge(context, calls, tooMany),
      prefersPage: () => asksForPage(context),
      mediaType: preferredType(context, declaration),
      eventStream: acceptsEventStream(context) ? { lastEventId: lastEventIdOf(context) } : undefined,
      ifMatch: context.req.headers['if-match'],
      upload: declaration.upload ? uploadOf(context.req, () => reading.account) : undefined,
      answer: room,
      browser: {
        leadErrorsTo: (page) => {
          context.failurePage = page;
        },
        endAt: (page) => {
          context.successPage = page;
        },
        bind: (binding) => cookies.bind(context, binding),
        takeBinding: (id) => cookies.takeBinding(context, id),
      },
    };
  };

  return async (ctx) => {
    const { context } = ctx.state;
    const { operation } = context;
    if (operation === undefined) return;
    const { declaration } = operation;
    await admit(context, declaration);
    const share = declaration.method === 'GET' || declaration.upload ? undefined : bodyRoom(context.ip);
    const bounds = { maxBytes: declaration.bodyBytes ?? config.bodyMaxBytes, form: declaration.form === true };
    try {
      const body = share && (await readBody(ctx.req, bounds, share));
      const result = await invoke(once(context, operation), {
        project: context.project,
        actor: context.actor ?? guest,
        params: context.params,
        query: readQuery(context, operation),
        body,
        request: requestFacts(context, declaration),
      });
      if (result instanceof FileContent) await files.prepare(context, result, new RequestReading(context).account);
      else reply.write(context, declaration, operation.present === undefined ? result : operation.present(result));
    } finally {
      share?.release();
    }
  };
}

/** The declared media type, where the caller prefers it to `application/json`. */
function preferredType({ req }: RequestContext, { mediaType }: Declaration): string | undefined {
  if (mediaType === undefined) return undefined;
  const types = ['application/json', mediaType];
  // Clients may name the encoding too, and then only a type that names it is the same.
  const preferred = new Negotiator(req).mediaType(types.flatMap((type) => [type, `${type}; charset=utf-8`]));
  return preferred?.startsWith(mediaType) ? mediaType : undefined;
}

function lastEventIdOf({ req }: RequestContext): string | null {
  const id = req.headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}

/** The user agent of the browser; a server key forwards that of the browser which it acts for. */
function userAgentOf({ ctx, req, actor }: RequestContext): string {
  return (actor?.kind === 'key' && ctx.get(forwardedUserAgent)) || (req.headers['user-agent'] ?? '');
}
