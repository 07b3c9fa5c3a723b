import type { Declaration } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { RawJson } from '#src/contract/raw-json.js';
import { WithSession } from '#src/contract/with-session.js';
import { millisecondsOf } from '#src/platform/clock.js';
import type { Platform } from '#src/platform/index.js';
import { printJson } from '#src/platform/json.js';
import type { Cookies } from './cookies.js';
import type { Exchange } from './exchange.js';

/** Writes what an operation returned. */
export function createReply({ clock }: Pick<Platform, 'clock'>, cookies: Cookies) {
  const openSession = (exchange: Exchange, project: Project, session: { secret: string; expire: string }) => {
    const life = Math.max(0, Math.floor((millisecondsOf(session.expire) - clock.now()) / 1000));
    cookies.open(exchange, project, session.secret, life);
  };
  /** Ending another session than the one of this request leaves the caller's cookie alone. */
  const endsOwnSession = ({ ctx, actor }: Exchange): boolean => {
    const { sessionId } = ctx.params ?? {};
    return (
      sessionId === undefined || sessionId === 'current' || (actor?.kind === 'user' && actor.session.id === sessionId)
    );
  };
  return {
    write: (exchange: Exchange, declaration: Declaration, answer: unknown): void => {
      const { ctx, project } = exchange;
      const value = answer instanceof WithSession ? answer.answer : answer;
      ctx.status = (value instanceof RawJson ? value.status : undefined) ?? declaration.status;
      if (project !== undefined && declaration.session === 'opens') {
        openSession(exchange, project, value as { secret: string; expire: string });
      }
      if (project !== undefined && answer instanceof WithSession) openSession(exchange, project, answer.session);
      if (project !== undefined && declaration.session === 'closes' && endsOwnSession(exchange))
        cookies.close(exchange, project);
      if (declaration.reply.kind === 'empty') return;
      const isText = declaration.reply.kind === 'text';
      ctx.set(
        'Content-Type',
        declaration.reply.kind === 'text' ? declaration.reply.contentType : 'application/json; charset=utf-8',
      );
      ctx.body = isText ? value : value instanceof RawJson ? value.text : printJson(value);
    },
  };
}
