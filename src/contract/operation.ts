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
import type { Browser, Redirect } from './browser.js';
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
 * How an operation replies: with a JSON value or JSON text, with nothing at all, text of a given type, a page for people, an image, a file, or a redirect of the
 * browser that has opened it. Errors of the last lead to a page of the application, where the caller names one.
 */
export type Reply<S extends z.ZodType = z.ZodType> =
  | { readonly kind: 'json'; readonly schema: S; readonly raw?: true }
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly contentType: string }
  | { readonly kind: 'page'; readonly otherwise?: S }
  | { readonly kind: 'image' }
  | { readonly kind: 'file' }
  | { readonly kind: 'redirect'; readonly otherwise?: { readonly status: number; readonly schema: S } };

/** A JSON reply of this shape; the handler returns what goes into the schema. */
export const json = <S extends z.ZodType>(schema: S) => ({ kind: 'json', schema }) as const;
/** A JSON reply of this shape that the handler returns as text already, as `RawJson`. */
export const rawJson = <S extends z.ZodType>(schema: S) => ({ kind: 'json', schema, raw: true }) as const;
/** A reply without a body (204). */
export const empty = { kind: 'empty' } as const;
/** A text reply; the handler returns the text. */
export const text = (contentType: string) => ({ kind: 'text', contentType }) as const;
/** A page for people; the handler returns a `Page`. */
export const page = { kind: 'page' } as const;
/** A page for people, or JSON of this shape for programs: `request.prefersPage()` says which. */
export const pageOr = <S extends z.ZodType>(schema: S) => ({ kind: 'page', otherwise: schema }) as const;
/** An image; the handler returns an `Image`. */
export const image = { kind: 'image' } as const;
/** The bytes of a file; the handler returns `FileContent`. */
export const file = { kind: 'file' } as const;
/** A redirect; the handler returns a `Redirect`. */
export const redirect = { kind: 'redirect' } as const;
/** A redirect, or JSON of this shape with this status where there is no page to lead to. */
export const redirectOr = <S extends z.ZodType>(status: number, schema: S) =>
  ({ kind: 'redirect', otherwise: { status, schema } }) as const;

/** A page as HTML, and the nonce without which its scripts and styles do not count. */
export interface Page {
  readonly html: string;
  readonly nonce: string;
  /** Origins that its forms lead to besides the service; it has no forms where absent. */
  readonly formTargets?: readonly string[];
}

/** An image with its media type. */
export interface Image {
  readonly type: string;
  readonly content: Buffer;
}

type ActorKind = WireActor['kind'];

/**
 * Everything that clients may know of an operation. From this one object come the route, validation, handler type, OpenAPI entry,
 * metrics label, rate-limit bucket and cookies.
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
   * False for operations of the installation, which take no project header; `path` where path or query name the project and anyone may read;
   * `callback` where path or query name it and another site sends a browser back, so that neither its origin nor credentials count.
   */
  readonly project?: false | 'path' | 'callback';
  /** For operations without a project: pages of every platform may read the response. */
  readonly readableByPlatforms?: true;
  /** Answer at the root too, not only below `/v1`. */
  readonly atRoot?: true;
  /** Which kinds of actor may call. */
  readonly auth: readonly ActorKind[];
  /** Sessions that lack their second factor may call it too. */
  readonly pending?: true;
  /** False refuses users who authenticate with a JWT. */
  readonly jwt?: false;
  /** The way to log in that the operation is part of: a project that has switched it off refuses it to all but server keys. */
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
  /** The body is a form with a file (`multipart/form-data`), which the handler reads by `request.upload`; `body` describes its fields. */
  readonly upload?: true;
  /** Largest accepted body in bytes; the installation's setting where absent. */
  readonly bodyBytes?: number;
  readonly status: number;
  readonly reply: Reply;
  /**
   * The bound of a reply that is a list: the room of the request, through which its rows are read, or the largest number of entries and their
   * largest size. Every operation that replies with a list has one.
   */
  readonly bound?: 'room' | { readonly entries: number; readonly bytes: number };
  /** A request with an `Idempotency-Key` is carried out once, and its duplicates get the same answer; where it is false, such a request is refused. */
  readonly idempotent?: boolean;
  /** A media type of the JSON reply beside `application/json`, for clients that prefer it. */
  readonly mediaType?: string;
  /** Takes `If-Match`: nothing is changed where the resource has another entity tag. */
  readonly conditional?: true;
  /** Clients that accept `text/event-stream` get an `EventStream` instead of the JSON reply. */
  readonly streams?: true;
  /** The handler may return a `Page` instead of the JSON reply, for a browser that opens the address. */
  readonly orPage?: true;
  /** JSON replies of other statuses that are not the error envelope. */
  readonly alsoReplies?: Readonly<Record<number, z.ZodType>>;
  /** Errors beyond those that auth, limit and validation imply. */
  readonly errors: readonly ErrorType[];
  /** The ids of operations that it carries out for the caller: their errors are its own. */
  readonly carriesOut?: readonly string[];
  /** For how long caches may keep the response; not at all where absent. */
  readonly cacheSeconds?: number;
  /** Whether the response sets or clears the session cookie; the result of one that `renews` may be `WithSession`. */
  readonly session?: 'opens' | 'closes' | 'renews';
}

/** Declares a table of operations, keeping their exact types. */
export function declare<const T extends Record<string, Declaration>>(table: T): T {
  return table;
}

/** The time that a request may still wait for the database, over all its units of work. */
export interface Waits {
  /** When waiting ends, on the clock of `performance`; set by the first unit. */
  until?: number;
}

/** Facts of a request besides its content, from the transport. */
export interface RequestFacts {
  readonly id: string;
  /** Shared by all units of work of the request; absent where each has its own time. */
  readonly waits?: Waits | undefined;
  readonly ip: string;
  readonly userAgent: string;
  /** The session secret that the caller's browser holds, of any user; a login ends that session. */
  readonly presentedSession: string | null;
  /** The requested language, as a BCP 47 tag. */
  readonly locale: string | null;
  /** Whether the peer is on this machine and is no proxy. */
  readonly isLocal: boolean;
  /** The share of the database in which the lists of the request are read, and until when. */
  readonly reading: Reading;
  /** Counts further calls within the same request, all or none. Throws Failure 429, and `tooMany` for more than there can ever be. */
  readonly charge: (calls: number, tooMany: ErrorType) => void;
  /** Whether the caller prefers HTML to JSON, as browsers do that open an address (RFC 9110 §12.5.1). */
  readonly prefersPage: () => boolean;
  /** The media type of the JSON reply, where it is not `application/json`. */
  readonly mediaType?: string | undefined;
  /** Where the client accepts server-sent events: the id of the last one that it has. */
  readonly eventStream?: { readonly lastEventId: string | null } | undefined;
  /** The value of `If-Match`. */
  readonly ifMatch?: string | undefined;
  /** Where the request has an `Idempotency-Key`: what its answer is kept under. */
  readonly idempotent?: IdempotentRequest | undefined;
  /** The same for an upload, whose content is known only when it has been read. */
  readonly once?: CarryOutOnce | undefined;
  /** The form with a file, for operations that take one. */
  readonly upload?: Upload | undefined;
  /** The memory that the response may take. */
  readonly answer: AnswerRoom;
  /** The browser behind it; only operations that reply with a redirect need it. */
  readonly browser: Browser;
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;
type ActorOf<K extends ActorKind> =
  | (K extends 'guest' ? Guest : never)
  | (K extends 'user' ? User : never)
  | (K extends 'key' ? ServerKey : never);

/** A validated call as its handler receives it. */
export interface Call<D extends Declaration = Declaration> {
  readonly project: D extends { readonly project: false } ? undefined : Project;
  readonly actor: ActorOf<D['auth'][number]>;
  readonly params: Parsed<D['params']>;
  readonly query: Parsed<D['query']>;
  readonly body: D extends { readonly upload: true } ? undefined : Parsed<D['body']>;
  readonly request: RequestFacts;
}

/** What a handler returns for a declared reply. */
export type HandlerResult<D extends Declaration> = D['reply'] extends { readonly raw: true }
  ?
      | RawJson
      | (D extends { readonly streams: true } ? EventStream : never)
      | (D extends { readonly orPage: true } ? Page : never)
  : D['reply'] extends { readonly kind: 'json'; readonly schema: infer S extends z.ZodType }
    ?
        | z.input<S>
        | (D extends { readonly session: 'renews' } ? WithSession<z.input<S>> : never)
        | (D extends { readonly streams: true } ? EventStream : never)
    : D['reply'] extends { readonly kind: 'text' }
      ? string
      : D['reply'] extends { readonly kind: 'page'; readonly otherwise: infer S extends z.ZodType }
        ? Page | z.input<S>
        : D['reply'] extends { readonly kind: 'page' }
          ? Page
          : D['reply'] extends { readonly kind: 'image' }
            ? Image
            : D['reply'] extends { readonly kind: 'file' }
              ? FileContent
              : D['reply'] extends {
                    readonly kind: 'redirect';
                    readonly otherwise: { readonly schema: infer S extends z.ZodType };
                  }
                ? Redirect | z.input<S> | WithSession<Redirect | z.input<S>>
                : D['reply'] extends { readonly kind: 'redirect' }
                  ? Redirect | (D extends { readonly session: 'renews' } ? WithSession<Redirect> : never)
                  : // biome-ignore lint/suspicious/noConfusingVoidType: a handler returns it.
                    void;

/** The code behind a declaration. */
type Handler<D extends Declaration> = (call: Call<D>) => Promise<HandlerResult<D>> | HandlerResult<D>;

/** A declaration together with its code. */
export interface Operation {
  readonly declaration: Declaration;
  readonly handle: (call: Call) => unknown;
  /** The id of the operation that this one is under other names. */
  readonly sameAs?: string;
  /** Turns what the handler returned into what is answered, where the operation is another one under other names. */
  readonly present?: (result: unknown) => unknown;
}

/** Binds handlers to declarations; a missing handler or a result of the wrong type does not compile. */
export function implement<const T extends Record<string, Declaration>>(
  table: T,
  handlers: { readonly [K in keyof T]: Handler<T[K]> },
): readonly Operation[] {
  return Object.entries(table).map(([name, declaration]) => ({
    declaration,
    // Each handler was checked against its own declaration just above; a list of operations can only hold them widened.
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
  if (declaration.login !== undefined) demandLogin(call, declaration.login);
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

/** Throws Failure `user_auth_method_unsupported` where the project does not let users log in this way; what server keys do is their own affair. */
export function demandLogin({ project, actor }: Pick<RawCall, 'project' | 'actor'>, login: LoginSwitch): void {
  if (actor.kind !== 'key' && project?.settings[login] === false) throw new Failure('user_auth_method_unsupported');
}

/** The actor of a call to this operation: a session that lacks its second factor counts as a guest where guests are allowed. */
export function actingOn(declaration: Declaration, actor: WireActor): WireActor {
  const isLacking = actor.kind === 'user' && actor.session.pending && declaration.pending !== true;
  return isLacking && declaration.auth.includes('guest') ? { kind: 'guest' } : actor;
}

/** What a caller of a kind that the operation does not take should send instead. */
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

/** The fields of an upload, which are known when its file has been read. Throws Failure. */
export function parseFields<S extends z.ZodType>(schema: S, fields: unknown): z.output<S> {
  return parse(schema, fields) as z.output<S>;
}

/** Validates a part of a request; one 400 lists every problem by its path. */
function parse(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 10).map((issue) => {
    const path = issue.path.join('.');
    if (path === '') return /^[a-z]/.test(issue.message) ? `The request ${issue.message}.` : issue.message;
    const absent = valueAt(value, issue.path) === undefined;
    return absent ? `Param "${path}" is not optional.` : `Invalid \`${path}\` param: ${issue.message}`;
  });
  const sentences = problems.map((problem, at) => (at < problems.length - 1 ? problem.replace(/\.$/, '') : problem));
  throw new Failure('general_argument_invalid', { message: sentences.join('; ') });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (at === null || at === undefined ? undefined : Reflect.get(Object(at), key)),
    value,
  );
}

/** The length to which user agents are cut. */
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
