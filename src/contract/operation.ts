import type { RequestProblem } from './request-problems.js';
import './problems.js';
import type { z } from 'zod';
import { type Actor, type Guest, hasScope, type Operator, type ServerKey, type User, type WireActor } from './actor.js';
import { asMeant, valueAt } from './as-meant.js';
import type { Asset } from './asset.js';
import type { Browser, HtmlPage, Redirect } from './browser.js';
import type { Declaration, DeclaredAccess, DeclaredReply, Image } from './declaration.js';
import { type ErrorType, Failure, sessionInvalid } from './errors.js';
import type { EventStream } from './event-stream.js';
import type { FileContent } from './file-content.js';
import type { CarryOutOnce, IdempotentRequest } from './idempotency.js';
import type { LoginSwitch, Project } from './project.js';
import type { RawJson } from './raw-json.js';
import type { Reading } from './reading.js';
import type { ResponseBudget } from './response-budget.js';
import type { Upload } from './upload.js';
import type { WithSession } from './with-session.js';

/** The remaining time of a request to wait for the database, for all its units of work. */
export interface Waits {
  /** End of waiting, on the clock of `performance`; set by the first unit. */
  until?: number;
}

/** Facts of a request besides its content, from the transport. */
export interface RequestFacts {
  readonly id: string;
  /** Shared by all units of work of the request; absent if each has its own time. */
  readonly waits?: Waits | undefined;
  readonly ip: string;
  readonly userAgent: string;
  /** The session secret of the caller's browser, of any user; a login ends that session. */
  readonly presentedSession: string | null;
  /** The requested language, as a BCP 47 tag. */
  readonly locale: string | null;
  /** True if the peer is on this machine and is not a proxy. */
  readonly isLocal: boolean;
  /** The database quota for lists of the request, and their waiter. */
  readonly reading: Reading;
  /** Counts further calls within the same request, all or none. Throws Failure 429, or `tooMany` if the limit can never allow that many. */
  readonly charge: (calls: number, tooMany: ErrorType) => void;
  /** True if the caller prefers HTML to JSON, as browsers do when they open an address (RFC 9110 §12.5.1). */
  readonly prefersPage: () => boolean;
  /** The media type of the JSON reply, if not `application/json`. */
  readonly mediaType?: string | undefined;
  /** Set if the client accepts server-sent events: the id of the last event it received. */
  readonly eventStream?: { readonly lastEventId: string | null } | undefined;
  /** The value of `If-Match`. */
  readonly ifMatch?: string | undefined;
  /** Set if the request has an `Idempotency-Key`: the key for storing its response. */
  readonly idempotent?: IdempotentRequest | undefined;
  /** The same for an upload, whose content is known only after it has been read. */
  readonly once?: CarryOutOnce | undefined;
  /** The form with a file, for operations that accept one. */
  readonly upload?: Upload | undefined;
  /** The memory budget of the response. */
  readonly budget: ResponseBudget;
  /** The caller's browser; only operations that reply with a redirect need it. */
  readonly browser: Browser;
}

/** The facts that reads for a response need. */
export type ReadFacts = Pick<RequestFacts, 'reading' | 'budget'>;

/** The facts of a request that reads for its response need. */
export function readFactsOf({ reading, budget }: ReadFacts): ReadFacts {
  return { reading, budget };
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type InputOf<D extends Declaration> = NonNullable<D['input']>;
type ActorOf<K extends WireActor['kind']> =
  | (K extends 'guest' ? Guest : never)
  | (K extends 'user' ? User : never)
  | (K extends 'key' ? ServerKey : never);

/** A validated call, the argument of its handler. */
export interface Call<D extends Declaration = Declaration> {
  readonly project: D['access'] extends { readonly project: false } ? undefined : Project;
  readonly actor: ActorOf<D['access']['auth'][number]>;
  readonly params: Parsed<InputOf<D>['params']>;
  readonly query: Parsed<InputOf<D>['query']>;
  readonly body: InputOf<D> extends { readonly upload: true } ? undefined : Parsed<InputOf<D>['body']>;
  readonly request: RequestFacts;
}

type OrPage<R> = R extends { readonly orPage: true } ? HtmlPage : never;

/** The result of a handler of this operation. */
export type HandlerResult<D extends Declaration> = ResultOf<D['reply']>;

/** The result of a handler for a declared reply. */
type ResultOf<R extends DeclaredReply> = R['shape'] extends { readonly raw: true }
  ? RawJson | (R extends { readonly streams: true } ? EventStream : never) | OrPage<R>
  : R['shape'] extends { readonly kind: 'json'; readonly schema: infer S extends z.ZodType }
    ?
        | z.input<S>
        | (R extends { readonly session: 'renews' } ? WithSession<z.input<S>> : never)
        | (R extends { readonly streams: true } ? EventStream : never)
    : R['shape'] extends { readonly kind: 'text' }
      ? string
      : R['shape'] extends { readonly kind: 'page'; readonly otherwise: infer S extends z.ZodType }
        ? HtmlPage | z.input<S>
        : R['shape'] extends { readonly kind: 'page' }
          ? HtmlPage | (R extends { readonly orRedirect: true } ? Redirect : never)
          : R['shape'] extends { readonly kind: 'image' }
            ? Image
            : R['shape'] extends { readonly kind: 'asset' }
              ? Asset
              : R['shape'] extends { readonly kind: 'file' }
                ? FileContent
                : R['shape'] extends {
                      readonly kind: 'redirect';
                      readonly otherwise: { readonly schema: infer S extends z.ZodType };
                    }
                  ? Redirect | z.input<S> | WithSession<Redirect | z.input<S>>
                  : R['shape'] extends { readonly kind: 'redirect' }
                    ? Redirect | OrPage<R> | (R extends { readonly session: 'renews' } ? WithSession<Redirect> : never)
                    : // biome-ignore lint/suspicious/noConfusingVoidType: a handler returns it.
                      void;

/** The code of a declaration. */
type Handler<D extends Declaration> = (call: Call<D>) => Promise<HandlerResult<D>> | HandlerResult<D>;

/** A declaration together with its code. */
export interface Operation {
  readonly declaration: Declaration;
  readonly handle: (call: Call) => unknown;
  /** Returns the response to a duplicate, from the stored one. Throws Failure if the caller has lost a right that the call needs. */
  readonly repeat?: (call: Call, kept: () => RawJson | undefined) => Promise<RawJson | undefined>;
  /** The id of the operation that this one is an alias of. */
  readonly sameAs?: string;
  /** Converts the handler's result to the reply, if the operation is an alias. */
  readonly present?: (result: unknown) => unknown;
}

/** Binds handlers to declarations; a missing handler or a result of the wrong type does not compile. */
export function implement<const T extends Record<string, Declaration>>(
  table: T,
  handlers: { readonly [K in keyof T]: Handler<T[K]> },
): readonly Operation[] {
  return Object.entries(table).map(([name, declaration]) => ({
    declaration,
    // Each handler was checked against its own declaration just above; a list of operations can only contain them with a widened type.
    handle: handlers[name as keyof T] as unknown as Operation['handle'],
  }));
}

/** A call before authorisation and validation. */
export interface RawCall {
  readonly project: Project | undefined;
  readonly actor: Actor;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly request: RequestFacts;
}

/** Authorises and validates a call, then runs its handler: the only way into the domain. Throws Failure. */
export async function invoke(operation: Operation, call: RawCall): Promise<unknown> {
  const { access, input = {} } = operation.declaration;
  authorise(access, call.actor);
  if (access.login !== undefined) requireLogin(call, access.login);
  const valid = {
    project: call.project,
    actor: call.actor,
    params: input.params ? parse(input.params, call.params) : undefined,
    query: input.query ? parse(input.query, call.query) : undefined,
    body: input.body && !input.upload ? parse(input.body, call.body ?? {}) : undefined,
    request: call.request,
  };
  // Narrowed by authorise and parse above, in a way the compiler cannot follow through a list of operations.
  return operation.handle(valid as unknown as Call);
}

/** Throws Failure `user_auth_method_unsupported` if the project has switched off this login method; server keys are exempt. */
export function requireLogin({ project, actor }: Pick<RawCall, 'project' | 'actor'>, login: LoginSwitch): void {
  if (actor.kind !== 'key' && project?.settings[login] === false) throw new Failure('user_auth_method_unsupported');
}

/** The actor of a call to this operation: a session without its second factor counts as a guest if guests are allowed. */
export function actingOn({ access }: Declaration, actor: WireActor): WireActor {
  const isLacking = actor.kind === 'user' && actor.session.pending && access.pending !== true;
  return isLacking && access.auth.includes('guest') ? { kind: 'guest' } : actor;
}

/** Message for a kind of actor that the operation refuses, with the expected credential. */
function insteadOf(actor: WireActor, { auth }: DeclaredAccess): string {
  if (!auth.includes('user')) return auth.includes('key') ? 'This operation is for server keys.' : noCredential;
  if (actor.kind === 'key') return 'This operation is for users. Send the session or JWT of a user, and no server key.';
  if (actor.kind === 'guest' && actor.endedSession) return sessionInvalid;
  return `Log in first: this operation is for users${auth.includes('key') ? ' and server keys' : ''}.`;
}

const noCredential = 'This operation takes no session, JWT or server key. Send none.';

/** Throws unless this actor may call the operation. */
function authorise(access: DeclaredAccess, actor: Actor | Operator): void {
  if (actor.kind === 'operator') return;
  if (!access.auth.includes(actor.kind))
    throw new Failure('general_unauthorized_scope', { message: insteadOf(actor, access) });
  if (actor.kind === 'user' && actor.session.pending && access.pending !== true)
    throw new Failure('user_more_factors_required');
  if (actor.kind === 'user' && actor.via === 'jwt' && access.jwt === false) {
    throw new Failure('general_unauthorized_scope', {
      message: 'A caller known by a JWT is not authorised for this operation. Use the session itself.',
    });
  }
  if (actor.kind !== 'key') return;
  const missing = (access.scopes ?? []).filter((scope) => !hasScope(actor, scope));
  if (missing.length > 0) {
    throw new Failure('general_unauthorized_scope', {
      message: `The server key lacks these scopes: ${missing.join(', ')}.`,
    });
  }
}

/** Validates the fields of an upload, which are known after its file has been read. Throws Failure. */
export function parseFields<S extends z.ZodType>(schema: S, fields: unknown): z.output<S> {
  return parse(schema, fields) as z.output<S>;
}

/** Attempts to repair a value: a repair can uncover a problem below it. */
const repairs = 3;

/** Validates a part of a request; one 400 lists every problem by its path. */
function parse(schema: z.ZodType, given: unknown): unknown {
  let value = given;
  let result = schema.safeParse(value);
  for (let left = repairs; !result.success && left > 0; left--) {
    const meant = asMeant(value, result.error.issues);
    if (meant === undefined) break;
    value = meant;
    result = schema.safeParse(value);
  }
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 10).map(({ path, message }): RequestProblem => {
    const name = path.join('.');
    if (name === '') return { kind: 'request', sentence: /^[a-z]/.test(message) ? `The request ${message}.` : message };
    return valueAt(value, path) === undefined ? { kind: 'absent', name } : { kind: 'param', name, problem: message };
  });
  throw new Failure('general_argument_invalid', { problems });
}

/** Longer user agents are truncated to this length. */
const userAgentCharacters = 512;

/** The audit context of a call, for its units of work. */
export function auditContextOf(call: {
  readonly project?: Project | undefined;
  readonly actor: Actor;
  readonly request: {
    readonly id: string;
    readonly ip?: string;
    readonly userAgent?: string;
    readonly waits?: Waits | undefined;
    readonly idempotent?: IdempotentRequest | undefined;
  };
}) {
  const { kind } = call.actor;
  const { id: requestId, ip = '', userAgent = '' } = call.request;
  return {
    projectId: call.project?.id ?? null,
    actor: { kind, id: call.actor.kind === 'guest' ? '' : call.actor.id },
    ...(call.actor.kind === 'user' && call.actor.actingKey !== undefined ? { actingKey: call.actor.actingKey } : {}),
    requestId,
    // Commands have no address; their actor is the operator.
    ...(ip === '' ? {} : { client: { ip, userAgent: userAgent.slice(0, userAgentCharacters) } }),
    waits: call.request.waits,
    idempotent: call.request.idempotent,
  };
}
