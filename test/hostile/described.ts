// What the served OpenAPI document says of the operations, as far as requests are built from it.

/** A JSON Schema, as the document holds it. */
export type Schema = {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
};

/** A parameter in the path or in the query string. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly schema: Schema;
}

/** Which kind of credential goes along. */
export type Credential = 'guest' | 'session' | 'jwt' | 'key';

/** One operation at one of its paths. */
export interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  /** Below the base, `{name}` for parameters. */
  readonly template: string;
  readonly pathNames: readonly string[];
  readonly query: readonly Parameter[];
  readonly body: Schema | undefined;
  /** It takes a form with a file. */
  readonly takesFile: boolean;
  readonly takes: readonly Credential[];
  readonly needsProject: boolean;
  /** Members of an entry of the list that it answers; none where it answers no list. */
  readonly fields: readonly string[];
}

type Described = {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>>;
};

/** The document, as far as it is read here. */
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** Looks up what a schema refers to. */
export function resolve(document: Document, schema: Schema): Schema {
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  return document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {};
}

/** The operations of a document. */
export function operationsOf(document: Document): readonly DescribedOperation[] {
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      template,
      pathNames: [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
      query: described.parameters.filter((parameter) => parameter.in === 'query'),
      body: described.requestBody?.content['application/json']?.schema,
      takesFile: described.requestBody?.content['multipart/form-data'] !== undefined,
      takes: credentialsOf(described),
      needsProject: described.security.some((set) => 'project' in set),
      fields: fieldsOf(document, described),
    })),
  );
}

function credentialsOf({ security }: Described): Credential[] {
  const kinds = security.map((set) => (['session', 'jwt', 'key'] as const).find((kind) => kind in set) ?? 'guest');
  return [...new Set(kinds)];
}

function fieldsOf(document: Document, { responses }: Described): readonly string[] {
  const answer = resolve(document, responses['200']?.content?.['application/json']?.schema ?? {});
  const list = Object.values(answer.properties ?? {}).find(({ type }) => type === 'array');
  return list?.items === undefined ? [] : Object.keys(resolve(document, list.items).properties ?? {});
}
