import type { z } from 'zod';
import type { Scope, WireActor } from './actor.js';
import type { ErrorType } from './errors.js';
import type { LimitName } from './limits.js';
import type { LoginSwitch } from './project.js';

/**
 * Shape of a reply: a JSON value or JSON text, nothing, text of a given type, a page for people, an image, an asset of a page, a file,
 * or a redirect of the browser that opened it. Errors of a redirect lead to a page of the application if the caller provides one.
 */
export type ReplyShape<S extends z.ZodType = z.ZodType> =
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

/** Callers of an operation. */
export interface DeclaredAccess {
  /**
   * False for operations of the installation, which need no project header. `path` if path or query contain the project and any caller may
   * read. `callback` if path or query contain it and another site sends a browser back, so origin and credentials are ignored.
   */
  readonly project?: false | 'path' | 'callback';
  /** For operations without a project: pages of every platform may read the response. */
  readonly readableByPlatforms?: true;
  /** Kinds of actor that may call it. */
  readonly auth: readonly ActorKind[];
  /** The scopes that a server key needs. */
  readonly scopes?: readonly Scope[];
  /** The login method of the operation. If a project has switched it off, only server keys may call the operation. */
  readonly login?: LoginSwitch;
  /** Sessions without their second factor may call it too. */
  readonly pending?: true;
  /** False refuses users who authenticate with a JWT. */
  readonly jwt?: false;
}

/** Server keys with these scopes may call the operation. */
export const serverKeys = (...scopes: readonly Scope[]) => ({ auth: ['key'], scopes }) as const;
/** Users, and server keys with these scopes, may call the operation. */
export const usersAndKeys = (...scopes: readonly Scope[]) => ({ auth: ['user', 'key'], scopes }) as const;
/** Guests and users, and server keys with these scopes, may call the operation. */
export const anyone = (...scopes: readonly Scope[]) => ({ auth: ['guest', 'user', 'key'], scopes }) as const;

/** How often an operation may be called, and with how large a body. */
interface DeclaredLimits {
  /** The rate limit of its calls. */
  readonly calls: LimitName | 'none';
  /** The operation always calls `request.charge` with the number of calls that its content makes. */
  readonly charges?: true;
  /** Largest accepted body in bytes, or the setting of the installation; by default the limit of routes without documents. */
  readonly bodyBytes?: number | 'setting';
}

/** The input of an operation. */
interface DeclaredInput {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body is a form (`application/x-www-form-urlencoded`), not JSON. */
  readonly form?: true;
  /** The body is a form with a file (`multipart/form-data`), which the handler reads with `request.upload`; `body` describes its fields. */
  readonly upload?: true;
}

/** The replies of an operation. */
export interface DeclaredReply {
  readonly status: number;
  readonly shape: ReplyShape;
  /**
   * The size limit of a reply with a list: the memory budget of the request, or the largest number of entries and their largest size.
   * Required for every operation that replies with a list.
   */
  readonly bound?: 'budget' | { readonly entries: number; readonly bytes: number };
  /** A media type of the JSON reply besides `application/json`, for clients that prefer it. */
  readonly mediaType?: string;
  /** Clients that accept `text/event-stream` get an `EventStream` instead of the JSON reply. */
  readonly streams?: true;
  /** The handler may return an `HtmlPage` instead of the JSON reply, for a browser that opens the address. */
  readonly orPage?: true;
  /** The handler of a page may return a `Redirect` instead (302). */
  readonly orRedirect?: true;
  /** JSON replies of other statuses that are not the error envelope. */
  readonly alsoReplies?: Readonly<Record<number, z.ZodType>>;
  /** Cache lifetime of the response in seconds; not cached if absent. */
  readonly cacheSeconds?: number;
  /** Effect of the response on the session cookie; an operation that `renews` may return `WithSession`. */
  readonly session?: 'opens' | 'closes' | 'renews';
  /** Errors beyond those implied by access, limits and validation. */
  readonly errors: readonly ErrorType[];
}

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
  /** Served at the root too, not only below `/v1`. */
  readonly atRoot?: true;
  readonly summary: string;
  /** The first segment of the OpenAPI tag list. */
  readonly tag: string;
  /** True if a request with an `Idempotency-Key` runs once and its duplicates get the same response; false refuses such requests. */
  readonly idempotent?: boolean;
  /** Supports `If-Match`: nothing is changed if the resource has another entity tag. */
  readonly conditional?: true;
  /** The ids of operations that it executes for the caller; it may return their errors. */
  readonly carriesOut?: readonly string[];
  readonly access: DeclaredAccess;
  readonly limits: DeclaredLimits;
  readonly input?: DeclaredInput;
  readonly reply: DeclaredReply;
}

/** Declares a table of operations, keeping their exact types. */
export function declare<const T extends Record<string, Declaration>>(table: T): T {
  return table;
}
