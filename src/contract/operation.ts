import type { RequestProblem } from './request-problems.js';
import './problems.js';
import type { z } from 'zod';
import {
  type Actor,
  type Guest,
  hasScope,
  type Operator,
  type Scope,
  type ServerKey,
  type User,
  type WireActor,
} from './actor.js';
import type { AnswerRoom } from './answer-room.js';
import { asMeant, valueAt } from './as-meant.js';
import type { Asset } from './asset.js';
import type { Browser, HtmlPage, Redirect } from './browser.js';
import { type ErrorType, Failure, sessionInvalid } from './errors.js';
import type { EventStream } from './event-stream.js';
import type { FileContent } from './file-content.js';
import type { CarryOutOnce, IdempotentRequest } from './idempotency.js';
import type { LimitName } from './limits.js';
import type { LoginSwitch, Project } from './project.js';
import type { RawJson } from './raw-json.js';
import type { Reading } from './reading.js';
import type { Upload } from './upload.js';
import type { WithSession } from './with-session.js';

/**
 * Reply of an operation: a JSON value or JSON text, nothing, text of a given type, a page for people, an image, an asset of a page, a file,
 * or a redirect of the browser that opened it. Errors of a redirect lead to a page of the application if the caller provides one.
 */
export type Reply<S extends z.ZodType = z.ZodType> =
  | { readonly kind: 'json'; readonly schema: S; readonly raw?: true }
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly contentType: string }
  | { readonly kind: 'page'; readonly otherwise?: S }
  | { readonly kind: 'image' }
  | { readonly kind: 'asset' }
  | { readonly kind: 'file' }
  | { readonly kind: 'redirect'; readonly otherwise?: { readonly status: number; readonly schema: S } };

/** A JSON reply of this shape; the handler returns the input of the schema. */
export const json = <S extends z.ZodType>(schema: S) => ({ kind: 'json', schema }) as const;
/** A JSON reply of this shape that the handler returns as text already, as `RawJson`. */
export const rawJson = <S extends z.ZodType>(schema: S) => ({ kind: 'json', schema, raw: true }) as const;
/** A reply without a body (204). */
export const empty = { kind: 'empty' } as const;
/** A text reply; the handler returns the text. */
export const textReply = (contentType: string) => ({ kind: 'text', contentType }) as const;
/** A page for people; the handler returns an `HtmlPage`. */
export const page = { kind: 'page' } as const;
/** A page for people, or JSON of this shape for programs, depending on `request.prefersPage()`. */
export const pageOr = <S extends z.ZodType>(schema: S) => ({ kind: 'page', otherwise: schema }) as const;
/** An image; the handler returns an `Image`. */
export const image = { kind: 'image' } as const;
/** A script, style or font of a page; the handler returns an `Asset`. */
export const asset = { kind: 'asset' } as const;
/** The bytes of a file; the handler returns `FileContent`. */
export const file = { kind: 'file' } as const;
/** A redirect; the handler returns a `Redirect`. */
export const redirect = { kind: 'redirect' } as const;
/** A redirect, or JSON of this shape with this status if there is no page to redirect to. */
export const redirectOr = <S extends z.ZodType>(status: number, schema: S) =>
  ({ kind: 'redirect', otherwise: { status, schema } }) as const;

/** An image with its media type. */
export interface Image {
  readonly type: string;
  readonly content: Buffer;
}

type ActorKind = WireActor['kind'];

/**
 * The public description of an operation. The route, validation, handler type, OpenAPI entry, metrics label, rate-limit bucket and cookies
 * are derived from it.
 */
export interface Declaration {
  /** `feature.verb`; the label of metrics, logs and limits. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the base, `:name` for parameters. */
  readonly path: string;
  /** Further paths with the same meaning. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** The first segment of the OpenAPI tag list. */
  readonly tag: string;
  /**
   * False for operations of the installation, which need no project header. `path` if path or query contain the project and any caller may
   * read. `callback` if path or query contain it and another site sends a browser back, so origin and credentials are ignored.
   */
  readonly project?: false | 'path' | 'callback';
  /** For operations without a project: pages of every platform may read the response. */
  readonly readableByPlatforms?: true;
  /** Served at the root too, not only below `/v1`. */
  readonly atRoot?: true;
  /** Kinds of actor that may call it. */
  readonly auth: readonly ActorKind[];
  /** Sessions without their second factor may call it too. */
  readonly pending?: true;
  /** False refuses users who authenticate with a JWT. */
  readonly jwt?: false;
  /** The login method of the operation. If a project has switched it off, only server keys may call the operation. */
  readonly login?: LoginSwitch;
  /** The scopes that a server key needs. */
  readonly scopes?: readonly Scope[];
  readonly limit: LimitName | 'none';
  /** The operation always calls `request.charge` with the number of calls that its content makes. */
  readonly charges?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body is a form (`application/x-www-form-urlencoded`), not JSON. */
  readonly form?: true;
  /** The body is a form with a file (`multipart/form-data`), which the handler reads with `request.upload`; `body` describes its fields. */
  readonly upload?: true;
  /** Largest accepted body in bytes, or the setting of the installation; by default the limit of routes without documents. */
  readonly bodyBytes?: number | 'setting';
  readonly status: number;
  readonly reply: Reply;
  /**
   * The size limit of a reply with a list: the memory budget of the request, or the largest number of entries and their largest size.
   * Required for every operation that replies with a list.
   */
  readonly bound?: 'room' | { readonly entries: number; readonly bytes: number };
  /** True if a request with an `Idempotency-Key` runs once and its duplicates get the same response; false refuses such requests. */
  readonly idempotent?: boolean;
  /** A media type of the JSON reply besides `application/json`, for clients that prefer it. */
  readonly mediaType?: string;
  /** Supports `If-Match`: nothing is changed if the resource has another entity tag. */
  readonly conditional?: true;
  /** Clients that accept `text/event-stream` get an `EventStream` instead of the JSON reply. */
  readonly streams?: true;
  /** The handler may return an `HtmlPage` instead of the JSON reply, for a browser that opens the address. */
  readonly orPage?: true;
  /** The handler of a page may return a `Redirect` instead (302). */
  readonly orRedirect?: true;
  /** JSON replies of other statuses that are not the error envelope. */
  readonly alsoReplies?: Readonly<Record<number, z.ZodType>>;
  /** Errors beyond those implied by auth, limit and validation. */
  readonly errors: readonly ErrorType[];
  /** The ids of operations that it executes for the caller; it may return their errors. */
  readonly carriesOut?: readonly string[];
  /** Cache lifetime of the response in seconds; not cached if absent. */
  readonly cacheSeconds?: number;
  /** Effect of the response on the session cookie; an operation that `renews` may return `WithSession`. */
  readonly session?: 'opens' | 'closes' | 'renews';
}

/** Declares a table of operations, keeping their exact types. */
export function declare<const T extends Record<string, Declaration>>(table: T): T {
  return table;
}

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
  readonly answer: AnswerRoom;
  /** The caller's browser; only operations that reply with a redirect need it. */
  readonly browser: Browser;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type ActorOf<K extends ActorKind> =
  | (K extends 'guest' ? Guest : never)
  | (K extends 'user' ? User : never)
  | (K extends 'key' ? ServerKey : never);

/** A validated call, the argument of its handler. */
export interface Call<D extends Declaration = Declaration> {
  readonly project: D extends { readonly project: false } ? undefined : Project;
  readonly actor: ActorOf<D['auth'][number]>;
  readonly params: Parsed<D['params']>;
  readonly query: Parsed<D['query']>;
  readonly body: D extends { readonly upload: true } ? undefined : Parsed<D['body']>;
  readonly request: RequestFacts;
}

type OrPage<D> = D extends { readonly orPage: true } ? HtmlPage : never;

/** The result of a handler for a declared reply. */
export type HandlerResult<D extends Declaration> = D['reply'] extends { readonly raw: true }
  ? RawJson | (D extends { readonly streams: true } ? EventStream : never) | OrPage<D>
  : D['reply'] extends { readonly kind: 'json'; readonly schema: infer S extends z.ZodType }
    ?
        | z.input<S>
        | (D extends { readonly session: 'renews' } ? WithSession<z.input<S>> : never)
        | (D extends { readonly streams: true } ? EventStream : never)
    : D['reply'] extends { readonly kind: 'text' }
      ? string
      : D['reply'] extends { readonly kind: 'page'; readonly otherwise: infer S extends z.ZodType }
        ? HtmlPage | z.input<S>
        : D['reply'] extends { readonly kind: 'page' }
          ? HtmlPage | (D extends { readonly orRedirect: true } ? Redirect : never)
          : D['reply'] extends { readonly kind: 'image' }
            ? Image
            : D['reply'] extends { readonly kind: 'asset' }
              ? Asset
              : D['reply'] extends { readonly kind: 'file' }
                ? FileContent
                : D['reply'] extends {
                      readonly kind: 'redirect';
                      readonly otherwise: { readonly schema: infer S extends z.ZodType };
                    }
                  ? Redirect | z.input<S> | WithSession<Redirect | z.input<S>>
                  : D['reply'] extends { readonly kind: 'redirect' }
                    ? Redirect | OrPage<D> | (D extends { readonly session: 'renews' } ? WithSession<Redirect> : never)
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
  const { declaration } = operation;
  authorise(declaration, call.actor);
  if (declaration.login !== undefined) requireLogin(call, declaration.login);
  const valid = {
    project: call.project,
    actor: call.actor,
    params: declaration.params ? parse(declaration.params, call.params) : undefined,
    query: declaration.query ? parse(declaration.query, call.query) : undefined,
    body: declaration.body && !declaration.upload ? parse(declaration.body, call.body ?? {}) : undefined,
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
export function actingOn(declaration: Declaration, actor: WireActor): WireActor {
  const isLacking = actor.kind === 'user' && actor.session.pending && declaration.pending !== true;
  return isLacking && declaration.auth.includes('guest') ? { kind: 'guest' } : actor;
}

/** Message for a kind of actor that the operation refuses, with the expected credential. */
function insteadOf(actor: WireActor, { auth }: Declaration): string {
  if (!auth.includes('user')) return auth.includes('key') ? 'This operation is for server keys.' : noCredential;
  if (actor.kind === 'key') return 'This operation is for users. Send the session or JWT of a user, and no server key.';
  if (actor.kind === 'guest' && actor.endedSession) return sessionInvalid;
  return `Log in first: this operation is for users${auth.includes('key') ? ' and server keys' : ''}.`;
}

const noCredential = 'This operation takes no session, JWT or server key. Send none.';

/** Throws unless this actor may call the operation. */
function authorise(declaration: Declaration, actor: Actor | Operator): void {
  if (actor.kind === 'operator') return;
  if (!declaration.auth.includes(actor.kind))
    throw new Failure('general_unauthorized_scope', { message: insteadOf(actor, declaration) });
  if (actor.kind === 'user' && actor.session.pending && declaration.pending !== true)
    throw new Failure('user_more_factors_required');
  if (actor.kind === 'user' && actor.via === 'jwt' && declaration.jwt === false) {
    throw new Failure('general_unauthorized_scope', {
      message: 'A caller known by a JWT is not authorised for this operation. Use the session itself.',
    });
  }
  if (actor.kind !== 'key') return;
  const missing = (declaration.scopes ?? []).filter((scope) => !hasScope(actor, scope));
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
