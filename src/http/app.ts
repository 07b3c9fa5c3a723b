import type { RequestListener } from 'node:http';
import Koa, { type Context } from 'koa';
import { Failure } from '#src/contract/errors.js';
import { forwardedUserAgent } from '#src/contract/headers.js';
import { invoke, type Operation } from '#src/contract/operation.js';
import type { Features } from '#src/features/index.js';
import { createGraphql } from '#src/graphql/endpoint.js';
import type { Platform } from '#src/platform/index.js';
import { Answer } from './answer.js';
import { createAuthentication } from './authenticate.js';
import { readJsonBody } from './body.js';
import { createClientAddress, isLocal } from './client-address.js';
import { createCookies } from './cookies.js';
import { createEnvelope } from './envelope.js';
import { Exchange } from './exchange.js';
import { createRequestLimit } from './limit.js';
import { createLocale } from './locale.js';
import { mount } from './mount.js';
import { createOps, type ServerState } from './ops.js';
import { createOrigins } from './origins.js';
import { parseQuery } from './query.js';
import { createReply } from './reply.js';
import { requestId } from './request-id.js';
import { securityHeaders } from './security-headers.js';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The HTTP side of the service: one step over Koa's contexts, since every further middleware costs each request. */
export function createApp(platform: Platform, features: Features) {
  const { config, clock, random, log, metrics } = platform;
  const state: ServerState = { draining: false, operations: [] };
  state.operations = [
    ...features.operations,
    ...createGraphql(platform, features.operations),
    ...createOps(platform, state),
  ];
  const cookies = createCookies(config.baseUrl);
  const origins = createOrigins(platform, features.projects);
  const authentication = createAuthentication(features, cookies, origins, config.headerAliases);
  const limit = createRequestLimit(platform, features.limits);
  const envelope = createEnvelope(platform, cookies);
  const reply = createReply(platform, cookies);
  const locale = createLocale(config.headerAliases);
  const clientAddress = createClientAddress(config.trustedProxies);
  const fixedHeaders = securityHeaders(config).flat();

  /** The way of a request through one operation, in the order that security demands. */
  const answer = async (exchange: Exchange, operation: Operation): Promise<void> => {
    const { ctx, req } = exchange;
    const { declaration } = operation;
    let presentedSession: string | null = null;
    if (declaration.project !== false) exchange.project = await authentication.project(exchange);
    if (declaration.project === 'path') origins.admitAnybody(exchange);
    else if (exchange.project !== undefined) {
      origins.admit(exchange);
      ({ actor: exchange.actor, presentedSession } = await authentication.actor(exchange, exchange.project));
      const counted = limit.demand(exchange);
      if (counted !== undefined) await counted;
    }
    const body =
      declaration.method === 'GET' ? undefined : await readJsonBody(req, declaration.bodyBytes ?? config.bodyMaxBytes);
    const value = await invoke(operation, {
      project: exchange.project,
      actor: exchange.actor ?? guest,
      params: exchange.params,
      query: req.url?.includes('?') ? parseQuery(ctx.querystring) : {},
      body,
      request: {
        id: exchange.requestId,
        ip: exchange.ip,
        userAgent: userAgentOf(exchange),
        presentedSession,
        locale: locale(req),
        isLocal: isLocal(req),
        charge: (calls) => limit.charge(exchange, calls),
      },
    });
    reply.write(exchange, declaration, value);
  };
  const routes = mount(state.operations);

  const route = (exchange: Exchange): Promise<void> => {
    const found = routes.find(exchange.ctx);
    if (found === undefined) return answerUnrouted(exchange);
    exchange.operation = found.operation;
    exchange.params = found.params;
    return answer(exchange, found.operation);
  };
  const answerUnrouted = async (exchange: Exchange): Promise<void> => {
    const { ctx } = exchange;
    if (!methods.has(ctx.method)) return refuseMethod(exchange);
    if (ctx.method === 'OPTIONS') return origins.preflight(exchange);
    if (routes.allowed(ctx.path).length > 0) return refuseMethod(exchange);
    limit.demandKnownRoute(exchange.ip);
    throw new Failure('general_route_not_found');
  };
  const refuseMethod = (exchange: Exchange): never => {
    const allowed = routes.allowed(exchange.ctx.path);
    exchange.answer.set('Allow', [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', '));
    throw new Failure('general_method_unsupported');
  };
  const report = (exchange: Exchange): void => {
    const { req, operation, project, actor } = exchange;
    const { status } = exchange.answer;
    const seconds = (clock.monotonic() - exchange.started) / 1000;
    const method = req.method ?? '';
    const name = operation?.declaration.id ?? 'none';
    metrics.request(methods.has(method) ? method : 'other', name, status, seconds);
    if (!log.isOn('info')) return;
    log.info('request', {
      requestId: exchange.requestId,
      method,
      route: name,
      status,
      ms: Math.round(seconds * 1e5) / 100,
      project: project?.id,
      actor: actor === undefined || actor.kind === 'guest' ? actor?.kind : `${actor.kind}:${actor.id}`,
      ip: exchange.ip,
      type: exchange.errorType,
    });
  };

  const step = async (ctx: Context): Promise<void> => {
    const { req, res } = ctx;
    const given = req.headers['x-request-id'];
    const id = requestId(typeof given === 'string' ? given : undefined, random);
    const exchange = new Exchange(ctx, {
      requestId: id,
      ip: clientAddress(req),
      started: clock.monotonic(),
      answer: new Answer(fixedHeaders, id),
    });
    try {
      await route(exchange);
    } catch (error) {
      envelope.write(exchange, error);
    }
    limit.describe(exchange, clock.now());
    report(exchange);
    exchange.answer.write(res);
  };
  const koa = new Koa();
  // Not by Koa's `callback`: it watches each response by a handful of listeners, and sets headers of its own one by one.
  const handler: RequestListener = (req, res) => {
    // The step answers its errors itself. What could still fail is the writing, and then there is nothing left to say.
    step(koa.createContext(req, res)).catch((error: unknown) => {
      log.error('request.unanswered', { error: error instanceof Error ? error.name : typeof error });
      res.destroy();
    });
  };
  return { handler, state };
}

const guest = { kind: 'guest' } as const;

/** Behind an application's backend, the browser that it speaks for. */
function userAgentOf({ ctx, req, actor }: Exchange): string {
  return (actor?.kind === 'key' && ctx.get(forwardedUserAgent)) || (req.headers['user-agent'] ?? '');
}
