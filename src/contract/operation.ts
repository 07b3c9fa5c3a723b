import type { z } from 'zod';
import type { Actor, Guest, Operator, Scope, ServerKey, User, WireActor } from './actor.js';
import { type ErrorType, Failure } from './errors.js';
import type { LimitName } from './limits.js';
import type { Project } from './project.js';
import type { RawJson } from './raw-json.js';
import type { Renewed } from './renewed.js';

/** How an operation answers: a JSON value, nothing at all, text of a given type, or a page for people. */
export type Reply<S extends z.ZodType = z.ZodType> =
  | { readonly kind: 'json'; readonly schema: S }
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly contentType: string }
  | { readonly kind: 'page' };

/** A JSON answer of this shape; the handler returns what goes into the schema. */
export const json = <S extends z.ZodType>(schema: S) => ({ kind: 'json', schema }) as const;
/** An answer without a body (204). */
export const empty = { kind: 'empty' } as const;
/** A text answer; the handler returns the text. */
export const text = (contentType: string) => ({ kind: 'text', contentType }) as const;

/** A page for people; the handler returns a `Page`. */
export const page = { kind: 'page' } as const;

/** A page as HTML, and the nonce without which its scripts and styles do not count. */
export interface Page {
  readonly html: string;
  readonly nonce: string;
}

type ActorKind = WireActor['kind'];

/**
 * Everything the outside may know of an operation. From this one object come the route, validation, handler type, OpenAPI entry,
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
  /** False for operations of the installation, which take no project header; `path` where the path names it and anybody may read. */
  readonly project?: false | 'path';
  /** Answer at the root too, not only below `/v1`. */
  readonly atRoot?: true;
  /** Which kinds of actor may call. */
  readonly auth: readonly ActorKind[];
  /** A login that lacks its second factor may call it too. */
  readonly pending?: true;
  /** Not for users who are known by a JWT. */
  readonly jwt?: false;
  /** What a server key must hold. */
  readonly scopes?: readonly Scope[];
  readonly limit: LimitName | 'none';
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Largest accepted body in bytes; the installation's setting where absent. */
  readonly bodyBytes?: number;
  readonly status: number;
  readonly reply: Reply;
  /** JSON answers of other statuses that are not the error envelope. */
  readonly alsoReplies?: Readonly<Record<number, z.ZodType>>;
  /** Errors beyond those that auth, limit and validation imply. */
  readonly errors: readonly ErrorType[];
  /** For how long anybody may keep the answer; it must not be kept where absent. */
  readonly cacheSeconds?: number;
  /** Whether the answer sets or clears the session cookie; one that `renews` may be `Renewed`. */
  readonly session?: 'opens' | 'closes' | 'renews';
}

/** Declares a table of operations, keeping their exact types. */
export function declare<const T extends Record<string, Declaration>>(table: T): T {
  return table;
}

/** What the transport knows of a request besides its content. */
export interface RequestFacts {
  readonly id: string;
  readonly ip: string;
  readonly userAgent: string;
  /** The session secret the caller's browser holds, whoever it belongs to; a login ends that session. */
  readonly presentedSession: string | null;
  /** The language asked for, as a BCP 47 tag. */
  readonly locale: string | null;
  /** Whether the peer is on this machine and speaks for nobody else. */
  readonly isLocal: boolean;
  /** Counts further calls within the same request. Throws Failure 429. */
  readonly charge: (calls: number) => void;
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
  readonly body: Parsed<D['body']>;
  readonly request: RequestFacts;
}

/** What a handler returns for a declared reply. */
type Answer<D extends Declaration> = D['reply'] extends { readonly kind: 'json'; readonly schema: infer S }
  ? S extends z.ZodType
    ? z.input<S> | RawJson | (D extends { readonly session: 'renews' } ? Renewed<z.input<S>> : never)
    : never
  : D['reply'] extends { readonly kind: 'text' }
    ? string
    : D['reply'] extends { readonly kind: 'page' }
      ? Page
      : unknown;

/** The code behind a declaration. */
type Handler<D extends Declaration> = (call: Call<D>) => Promise<Answer<D>> | Answer<D>;

/** A declaration together with its code. */
export interface Operation {
  readonly declaration: Declaration;
  readonly handle: (call: Call) => unknown;
}

/** Binds handlers to declarations; a missing handler or a wrong answer does not compile. */
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

/** The one door into the domain: authorises, validates, then runs the handler. Throws Failure. */
export async function invoke(operation: Operation, call: RawCall): Promise<unknown> {
  const { declaration } = operation;
  authorise(declaration, call.actor);
  const valid = {
    project: call.project,
    actor: call.actor,
    params: declaration.params ? parse(declaration.params, call.params) : undefined,
    query: declaration.query ? parse(declaration.query, call.query) : undefined,
    body: declaration.body ? parse(declaration.body, call.body ?? {}) : undefined,
    request: call.request,
  };
  // Narrowed by authorise and parse above, in a way the compiler cannot follow through a list of operations.
  return operation.handle(valid as unknown as Call);
}

/** Who makes a call, for this operation: a login that lacks its second factor is nobody yet where guests are welcome. */
export function actingOn(declaration: Declaration, actor: WireActor): WireActor {
  const isLacking = actor.kind === 'user' && actor.session.pending && declaration.pending !== true;
  return isLacking && declaration.auth.includes('guest') ? { kind: 'guest' } : actor;
}

/** Throws unless this actor may call the operation. */
function authorise(declaration: Declaration, actor: Actor | Operator): void {
  if (actor.kind === 'operator') return;
  if (!declaration.auth.includes(actor.kind)) {
    throw new Failure('general_unauthorized_scope', {
      message: `The caller (${actor.kind}) is not authorised for this operation; it takes: ${declaration.auth.join(', ')}.`,
    });
  }
  if (actor.kind === 'user' && actor.session.pending && declaration.pending !== true)
    throw new Failure('user_more_factors_required');
  if (actor.kind === 'user' && actor.via === 'jwt' && declaration.jwt === false) {
    throw new Failure('general_unauthorized_scope', {
      message: 'A caller known by a JWT is not authorised for this operation. Use the session itself.',
    });
  }
  if (actor.kind !== 'key') return;
  const missing = (declaration.scopes ?? []).filter(
    (scope) => !actor.scopes.includes(scope) && !actor.scopes.includes('all'),
  );
  if (missing.length > 0) {
    throw new Failure('general_unauthorized_scope', {
      message: `The server key lacks these scopes: ${missing.join(', ')}.`,
    });
  }
}

/** Validates a part of a request; one 400 lists every problem by its path. */
function parse(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 10).map((issue) => {
    const path = issue.path.join('.');
    if (path === '') return issue.message;
    const absent = valueAt(value, issue.path) === undefined;
    return absent ? `Param "${path}" is not optional.` : `Invalid \`${path}\` param: ${issue.message}`;
  });
  throw new Failure('general_argument_invalid', { message: problems.join(' ') });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (at === null || at === undefined ? undefined : Reflect.get(Object(at), key)),
    value,
  );
}

/** On whose behalf and for which request a call works, as every unit of work wants to know it. */
export function by(call: {
  readonly project?: Project | undefined;
  readonly actor: Actor;
  readonly request: { readonly id: string };
}) {
  const { kind } = call.actor;
  return {
    projectId: call.project?.id ?? null,
    actor: { kind, id: call.actor.kind === 'guest' ? '' : call.actor.id },
    requestId: call.request.id,
  };
}
