import { z } from 'zod';
import type { Declaration } from '#src/contract/declaration.js';
import { type ErrorType, errorCatalog } from '#src/contract/errors.js';
import { subscribableEvents } from '#src/contract/events.js';
import { credentialHeaders } from '#src/contract/headers.js';
import type { Operation } from '#src/contract/operation.js';
import type { Project } from '#src/contract/project.js';
import { RawJson } from '#src/contract/raw-json.js';
import { type Collection, eventShape } from '#src/features/index.js';
import { Lru } from '#src/platform/cache/lru.js';
import type { Config } from '#src/platform/config/schema.js';
import { formType } from './body.js';
import { wireVersion } from './errors.js';
import { eventPayloads } from './event-payloads.js';
import { withCollections } from './openapi-collections.js';
import { createErrorResponses, type ErrorResponses, errorShape } from './openapi-errors.js';
import { convert, responsesOf, textHeader } from './openapi-responses.js';
import { withSamples } from './openapi-samples.js';
import { tagOf, tagsOf } from './openapi-tags.js';
import { isList } from './query.js';

type Json = Record<string, unknown>;

/** Builds the OpenAPI 3.1 description of all operations from their declarations. */
export function describeApi(
  operations: readonly Operation[],
  project: Project | undefined,
  config: Pick<Config, 'baseUrl'>,
  title = titleOf(project),
): Json {
  const endpoint = config.baseUrl.replace(/\/$/, '');
  const schemas: Json = { Error: errorShape };
  const errors = createErrorResponses();
  const paths: Record<string, Json> = {};
  const byId = new Map(operations.map(({ declaration }) => [declaration.id, declaration]));
  for (const { declaration: given } of operations) {
    const carriedOut = (given.carriesOut ?? []).map((id) => requireKnown(byId.get(id), id));
    const declaration = { ...given, reply: { ...given.reply, errors: [given, ...carriedOut].flatMap(errorsOf) } };
    for (const path of [declaration.path, ...(declaration.aliases ?? [])]) {
      const key = path.replace(/:([A-Za-z]+)/g, '{$1}');
      const at = paths[key] ?? {};
      paths[key] = at;
      const described = describe(declaration, path, schemas, errors);
      at[declaration.method.toLowerCase()] =
        path === declaration.path ? withSamples(described, declaration, endpoint) : described;
    }
  }
  const names = credentialHeaders([]);
  const scheme = (name: string | undefined, description: string) => ({
    type: 'apiKey',
    in: 'header',
    name,
    description,
  });
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: wireVersion,
      description:
        'The API of one project: users and sessions, teams, documents, files, webhooks, events and the audit log.\n\nEach request names the project in a header. A backend adds a server key. A browser sends the session cookie that a login has set; apps send the secret of the session or a JWT instead.',
    },
    servers: [{ url: endpoint }],
    tags: tagsOf(operations.map(({ declaration }) => declaration)),
    paths,
    webhooks: describeEvents(schemas),
    components: {
      schemas,
      responses: errors.responses,
      headers: responseHeaders,
      securitySchemes: {
        project: scheme(names.project[0], 'The project'),
        session: scheme(names.session[0], 'Acting as an end user; browsers use the cookie instead'),
        key: scheme(names.key[0], "Acting as an application's own backend"),
        jwt: scheme(names.jwt[0], 'Acting for an end user by a JWT that was made from a session'),
      },
    },
  };
}

/** Describes events as requests to a webhook receiver, including events that are only in the feed. */
function describeEvents(schemas: Json): Json {
  return Object.fromEntries(
    Object.entries(eventPayloads).map(([event, payload]) => {
      const shape = eventShape.extend({ type: z.literal(event), data: payload }).meta({ id: `${event}Event` });
      const isDelivered = (subscribableEvents as readonly string[]).includes(event);
      return [
        event,
        {
          post: {
            operationId: `event_${event}`,
            summary: isDelivered ? 'Delivered to webhooks, and in the feed.' : 'In the feed and its streams only.',
            requestBody: { content: { 'application/json': { schema: convert(shape, 'output', schemas) } } },
            responses: { '2XX': { description: 'The receiver has taken the event.' } },
          },
        },
      ];
    }),
  );
}

/** Placeholder for the title of the project. */
const titleMark = '<the title of the project>';

/** Cache bounds for descriptions with the collections of a project. Building a large one takes as long as thousands of requests. */
const projectTexts = { bytes: 67_108_864, entries: 100, largest: 33_554_432 } as const;

/**
 * Returns the description as JSON text, including the given collections. Caches the part that all projects share: building it takes as long
 * as hundreds of requests.
 */
export function createApiText(
  operations: () => readonly Operation[],
  config: Pick<Config, 'baseUrl'>,
): (project: Project, collections: readonly Collection[]) => RawJson {
  let cached: { readonly generic: Json; readonly text: readonly string[] } | undefined;
  const ofProjects = new Lru<{ readonly state: string; readonly text: readonly string[] }>(projectTexts);
  const described = (projectId: string, generic: Json, collections: readonly Collection[]): readonly string[] => {
    const state = collections.map(({ number, version, updatedAt }) => `${number} ${version} ${updatedAt}`).join();
    const known = ofProjects.get(projectId);
    if (known?.state === state) return known.text;
    const text = JSON.stringify(withCollections(generic, collections)).split(JSON.stringify(titleMark));
    ofProjects.set(
      projectId,
      { state, text },
      text.reduce((sum, part) => sum + 2 * part.length, 2 * state.length),
    );
    return text;
  };
  return (project, collections) => {
    if (cached === undefined) {
      const generic = describeApi(operations(), undefined, config, titleMark);
      cached = { generic, text: JSON.stringify(generic).split(JSON.stringify(titleMark)) };
    }
    const [before = '', after = ''] =
      collections.length === 0 ? cached.text : described(project.id, cached.generic, collections);
    return new RawJson([before, JSON.stringify(titleOf(project)), after]);
  };
}

function titleOf(project: Project | undefined): string {
  return project === undefined ? 'svc' : project.name;
}

/** The errors if a condition is true; otherwise none. */
const when = (isSo: boolean | undefined, ...types: readonly ErrorType[]) => (isSo ? types : []);

/** Errors implied by the declaration of an operation. */
function impliedErrors({ method, access, input, reply, conditional, idempotent }: Declaration): ErrorType[] {
  return [
    'general_unknown',
    'general_unavailable',
    'general_host_unknown',
    'general_query_timeout',
    ...when('queries' in (input?.query?.shape ?? {}), 'general_query_limit_exceeded'),
    // Any request may have a malformed head.
    'general_argument_invalid',
    'general_headers_too_large',
    ...when(access.project !== false, 'project_not_found'),
    ...when(access.project === undefined, ...credentialErrors),
    ...when(access.auth.includes('user') && !access.auth.includes('guest'), 'user_more_factors_required'),
    ...when(conditional, 'general_precondition_failed'),
    ...when(idempotent, 'general_idempotency_mismatch', 'general_resource_locked', 'general_answer_too_large'),
    ...when(reply.bound === 'budget', 'general_answer_too_large'),
    'general_rate_limit_exceeded',
    ...when(method !== 'GET', 'general_body_too_large', 'general_media_type_unsupported'),
  ];
}

const credentialErrors: readonly ErrorType[] = [
  'general_unauthorized_scope',
  'general_unknown_origin',
  'project_key_expired',
  'user_api_key_and_session_set',
  'user_blocked',
  'user_jwt_and_cookie_set',
  'user_jwt_invalid',
];

function requireKnown(declaration: Declaration | undefined, id: string): Declaration {
  if (declaration === undefined) throw new Error(`there is no operation ${id}`);
  return declaration;
}

/** Errors of an operation itself, also if another operation executes it. */
function errorsOf({ access, reply }: Declaration): ErrorType[] {
  return [
    ...reply.errors,
    ...when(access.login !== undefined, 'user_auth_method_unsupported'),
    ...when(reply.session === 'opens', 'user_more_factors_required', 'user_invalid_token'),
  ];
}

function describe(declaration: Declaration, path: string, schemas: Json, errorResponses: ErrorResponses): Json {
  const { access, limits, input: { body } = {} } = declaration;
  const isAlias = path !== declaration.path;
  const name = declaration.id.replace('.', '_');
  return {
    operationId: isAlias ? `${name}_${path.replace(/[^A-Za-z]+/g, '_')}` : name,
    summary: declaration.summary,
    tags: [tagOf(declaration)],
    ...(access.scopes ? { 'x-scopes': access.scopes } : {}),
    'x-rate-limit-class': limits.calls,
    security: securityOf(declaration),
    parameters: parametersOf(declaration, schemas),
    ...(body
      ? {
          requestBody: {
            required: true,
            content: {
              [bodyTypeOf(declaration)]: { schema: bodyShapeOf(declaration, convert(body, 'input', schemas)) },
            },
          },
        }
      : {}),
    responses: { ...responsesOf(declaration, schemas), ...errorsOfEach(declaration, schemas, errorResponses) },
  };
}

/** The error responses of an operation, by their status. */
function errorsOfEach(declaration: Declaration, schemas: Json, errorResponses: ErrorResponses): Json {
  const { input, reply } = declaration;
  const statuses = new Map<number, ErrorType[]>();
  for (const type of [...new Set([...impliedErrors(declaration), ...reply.errors])].sort())
    statuses.set(errorCatalog[type].status, [...(statuses.get(errorCatalog[type].status) ?? []), type]);
  return Object.fromEntries(
    [...statuses].map(([code, types]) => {
      const also = reply.alsoReplies?.[code];
      const described = {
        json: also && convert(also, 'output', schemas),
        mediaType: reply.mediaType,
        // A refused form is answered with its page.
        isPage: reply.shape.kind === 'page' || input?.form === true || reply.orPage === true,
      };
      return [code, errorResponses.refer(code, types, described)];
    }),
  );
}

function bodyTypeOf({ input: { form, upload } = {} }: Declaration): string {
  if (upload) return 'multipart/form-data';
  return form ? formType : 'application/json';
}

/** Adds the file of an upload to the fields of the form. */
function bodyShapeOf({ input: { upload } = {} }: Declaration, shape: Json): Json {
  if (!upload) return shape;
  const { properties, required } = shape as { properties?: Json; required?: string[] };
  const file = { type: 'string', format: 'binary' };
  return { ...shape, properties: { ...properties, file }, required: [...(required ?? []), 'file'] };
}

/** The combinations of credentials that an operation accepts. */
function securityOf({ access: { project, auth, jwt } }: Declaration): Json[] {
  if (project !== undefined) return [{}];
  const sets = { guest: [{}], user: [{ session: [] }, ...(jwt === false ? [] : [{ jwt: [] }])], key: [{ key: [] }] };
  return auth.flatMap((kind) => sets[kind].map((set) => ({ project: [], ...set })));
}

function parametersOf(declaration: Declaration, schemas: Json): Json[] {
  const { input: { params, query } = {} } = declaration;
  return [
    ...urlParameters('path', params, schemas),
    ...urlParameters('query', query, schemas),
    ...headerParameters(declaration),
  ];
}

function urlParameters(place: 'path' | 'query', schema: z.ZodObject | undefined, schemas: Json): Json[] {
  if (schema === undefined) return [];
  const object = convert(schema, 'input', schemas) as { properties?: Json; required?: string[] };
  return Object.entries(object.properties ?? {}).map(([name, shape]) => ({
    name,
    in: place,
    required: place === 'path' || (object.required ?? []).includes(name),
    // Explicit although it is the default: the parameter is repeated for each element, and a single value is a list of one.
    ...(isList(schema.shape[name]) ? { style: 'form', explode: true } : {}),
    schema: shape,
  }));
}

function headerParameters({ conditional, idempotent }: Declaration): Json[] {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  });
  return [
    ...(conditional ? [header('If-Match', 'The ETag that the resource must have')] : []),
    ...(idempotent ? [header('Idempotency-Key', 'Duplicates of the request get the answer of the first one')] : []),
  ];
}

const responseHeaders = {
  'X-Request-Id': textHeader("The caller's request id, or a new one"),
  'Retry-After': textHeader('Whole seconds to wait before trying again', 'integer'),
};
