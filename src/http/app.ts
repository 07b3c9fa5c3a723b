import Koa, { type Context } from 'koa';
import { Failure } from '#src/contract/errors.js';
import { forwardedUserAgent } from '#src/contract/headers.js';
import { invoke, type Operation } from '#src/contract/operation.js';
import type { Features } from '#src/features/index.js';
import { createGraphql } from '#src/graphql/endpoint.js';
import type { Platform } from '#src/platform/index.js';
import { createAuthentication } from './authenticate.js';
import { readJsonBody } from './body.js';
import { createClientAddress, isLocal } from './client-address.js';
import { createCookies } from './cookies.js';
import { createEnvelope } from './envelope.js';
import { type Exchange, exchangeOf } from './exchange.js';
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

/** The HTTP side of the service: one Koa middleware, since every further one costs each request. */
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
  const fixedHeaders = securityHeaders(config);

  /** The way of a request through one operation, in the order that security demands. */
  const answer = async (ctx: Context, operation: Operation): Promise<void> => {
    const exchange = exchangeOf(ctx);
    const { declaration } = operation;
    exchange.operation = operation;
    let presentedSession: string | null = null;
    if (declaration.project !== false) {
      exchange.project = await authentication.project(exchange);
      origins.admit(exchange);
      ({ actor: exchange.actor, presentedSession } = await authentication.actor(exchange, exchange.project));
      await limit.demand(exchange);
    }
    const body =
      declaration.method === 'GET'
        ? undefined
        : await readJsonBody(ctx.req, declaration.bodyBytes ?? config.bodyMaxBytes);
    const value = await invoke(operation, {
      project: exchange.project,
      actor: exchange.actor ?? { kind: 'guest' },
      params: ctx.params,
      query: ctx.req.url?.includes('?') ? parseQuery(ctx.querystring) : {},
      body,
      request: {
        id: exchange.requestId,
        ip: exchange.ip,
        userAgent: userAgentOf(exchange),
        presentedSession,
        locale: locale(ctx.req),
        isLocal: isLocal(ctx.req),
        charge: (calls) => limit.charge(exchange, calls),
      },
    });
    reply.write(exchange, declaration, value);
  };
  const routes = mount(state.operations, answer);

  const route = async (exchange: Exchange): Promise<void> => {
    const { ctx } = exchange;
    if (!methods.has(ctx.method)) return refuseMethod(ctx);
    if (ctx.method === 'OPTIONS') return origins.preflight(exchange);
    if (await routes.dispatch(ctx)) return;
    if (routes.allowed(ctx.path).length > 0) return refuseMethod(ctx);
    limit.demandKnownRoute(exchange.ip);
    throw new Failure('general_route_not_found');
  };
  const refuseMethod = (ctx: Context): never => {
    const allowed = routes.allowed(ctx.path);
    ctx.set('Allow', [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', '));
    throw new Failure('general_method_unsupported');
  };
  const report = ({ ctx, operation, started, requestId: id, project, actor, ip, errorType }: Exchange): void => {
    const seconds = (clock.monotonic() - started) / 1000;
    const name = operation?.declaration.id ?? 'none';
    metrics.request(methods.has(ctx.method) ? ctx.method : 'other', name, ctx.status, seconds);
    if (!log.isOn('info')) return;
    log.info('request', {
      requestId: id,
      method: ctx.method,
      route: name,
      status: ctx.status,
      ms: Math.round(seconds * 1e5) / 100,
      project: project?.id,
      actor: actor === undefined || actor.kind === 'guest' ? actor?.kind : `${actor.kind}:${actor.id}`,
      ip,
      type: errorType,
    });
  };

  const app = new Koa();
  app.silent = true;
  app.on('error', () => {});
  app.use(async (ctx) => {
    const given = ctx.req.headers['x-request-id'];
    const exchange: Exchange = {
      ctx,
      requestId: requestId(typeof given === 'string' ? given : undefined, random),
      ip: clientAddress(ctx.req),
      started: clock.monotonic(),
    };
    ctx.state.exchange = exchange;
    for (const [name, value] of fixedHeaders) ctx.res.setHeader(name, value);
    ctx.res.setHeader('X-Request-Id', exchange.requestId);
    try {
      await route(exchange);
    } catch (error) {
      envelope.write(exchange, error);
    }
    limit.describe(exchange, clock.now());
    report(exchange);
  });
  return { app, state };
}

/** Behind an application's backend, the browser that it speaks for. */
function userAgentOf({ ctx, actor }: Exchange): string {
  return (actor?.kind === 'key' && ctx.get(forwardedUserAgent)) || ctx.get('User-Agent');
}
