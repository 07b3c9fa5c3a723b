import { credentialHeaders, sessionHeaders } from '#src/contract/headers.js';
import type { Declaration, Page } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { RawJson } from '#src/contract/raw-json.js';
import { WithSession } from '#src/contract/with-session.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Platform } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import type { Cookies } from './cookies.js';
import type { Exchange } from './exchange.js';
import { pagePolicy } from './security-headers.js';

/** Writes what an operation returned. */
export function createReply({ clock, config }: Pick<Platform, 'clock' | 'config'>, cookies: Cookies) {
  const namesOfSession = sessionHeaders(config.headerAliases);
  const projectHeaders = credentialHeaders(config.headerAliases).project;
  /** Where a header names the project, one address has an answer for each. */
  const letKeep = ({ answer }: Exchange, { project }: Declaration, seconds: number) => {
    answer.set('Cache-Control', `public, max-age=${seconds}`);
    if (project === undefined) answer.set('Vary', [answer.get('Vary'), ...projectHeaders].join(', '));
  };
  const openSession = (exchange: Exchange, project: Project, session: { secret: string; expire: string }) => {
    const life = Math.max(0, Math.floor((millisecondsOf(session.expire) - clock.now()) / 1000));
    cookies.open(exchange, project, session.secret, life);
  };
  /** Whoever keeps the secret itself finds the new one where it sent the old one. */
  const renewSession = (exchange: Exchange, project: Project, session: WithSession['session']) => {
    openSession(exchange, project, session);
    const { answer, actor } = exchange;
    if (actor?.kind !== 'user' || actor.via !== 'header') return;
    for (const name of namesOfSession) answer.set(name, session.secret);
  };
  /** Ending another session than the one of this request leaves the caller's cookie alone. */
  const endsOwnSession = ({ params, actor }: Exchange): boolean => {
    const { sessionId } = params;
    return (
      sessionId === undefined || sessionId === 'current' || (actor?.kind === 'user' && actor.session.id === sessionId)
    );
  };
  const writeBody = ({ answer }: Exchange, { reply }: Declaration, value: unknown): void => {
    if (reply.kind === 'empty') return;
    if (reply.kind === 'page') {
      const { html, nonce } = value as Page;
      answer.set('Content-Type', 'text/html; charset=utf-8');
      answer.set('Content-Security-Policy', pagePolicy(nonce));
      answer.body = [html];
      return;
    }
    const isText = reply.kind === 'text';
    answer.set('Content-Type', isText ? reply.contentType : 'application/json; charset=utf-8');
    if (isText) answer.body = [String(value)];
    else answer.body = value instanceof RawJson ? value.parts : [printJson(value)];
  };
  return {
    write: (exchange: Exchange, declaration: Declaration, given: unknown): void => {
      const { answer, project } = exchange;
      const value = given instanceof WithSession ? given.answer : given;
      answer.status = (value instanceof RawJson ? value.status : undefined) ?? declaration.status;
      if (project !== undefined && declaration.session === 'opens')
        openSession(exchange, project, value as { secret: string; expire: string });
      if (project !== undefined && given instanceof WithSession) renewSession(exchange, project, given.session);
      if (project !== undefined && declaration.session === 'closes' && endsOwnSession(exchange))
        cookies.close(exchange, project);
      if (declaration.cacheSeconds !== undefined) letKeep(exchange, declaration, declaration.cacheSeconds);
      writeBody(exchange, declaration, value);
    },
  };
}
