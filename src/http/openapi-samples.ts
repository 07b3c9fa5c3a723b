import type { Declaration } from '#src/contract/declaration.js';
import { type Sdk, type SdkMethod, sdkMethodOf } from './sdk-methods.js';

type Json = Record<string, unknown>;

/** The arguments of a call with their schemas. */
type Arguments = readonly (readonly [name: string, schema: Json])[];

/** An SDK: the package, and the expression of an argument with a file. */
const sdks = {
  web: { title: 'Web SDK', package: 'appwrite', file: "document.getElementById('file').files[0]", imports: '' },
  node: {
    title: 'Node.js SDK',
    package: 'node-appwrite',
    file: "InputFile.fromPath('picture.png', 'picture.png')",
    imports: "import { InputFile } from 'node-appwrite/file';\n",
  },
} as const;

/** Adds an example of the body to the description of an operation, and code that calls it by Appwrite's SDKs if they have it. */
export function withSamples(described: Json, declaration: Declaration, endpoint: string): Json {
  const { given, members } = argumentsOf(declaration, described);
  const json = contentOf(described)['application/json'];
  const body = { content: { 'application/json': { ...json, example: objectOf(members) } } };
  const samples = codeSamplesOf(declaration, [...given, ...members], endpoint);
  return {
    ...described,
    ...(json === undefined ? {} : { requestBody: { ...(described.requestBody as Json), ...body } }),
    ...(samples.length === 0 ? {} : { 'x-codeSamples': samples }),
  };
}

/** An example of an object with its required members. */
export function exampleObject({ properties = {}, required = [] }: Shape): Json {
  return objectOf(Object.entries(properties).filter(([name]) => required.includes(name)));
}

const objectOf = (members: Arguments): Json =>
  Object.fromEntries(members.map(([name, schema]) => [name, exampleOf(name, schema)]));

/** Samples in the form of `x-codeSamples`. `<PROJECT_ID>` and the like are placeholders. */
function codeSamplesOf(declaration: Declaration, args: Arguments, endpoint: string): Json[] {
  const call = sdkMethodOf(declaration);
  if (call === undefined) return [];
  return call.sdks.map((name) => ({
    lang: 'javascript',
    label: sdks[name].title,
    source: sourceOf(declaration, call, args, { name, endpoint }),
  }));
}

/** Members of a body that the SDKs require, also if the service does not. */
const neededBySdks = new Set(['data', 'documentId', 'events', 'name', 'platformId', 'rowId', 'url', 'webhookId']);

/** The arguments that the service or the SDKs require: parameters of the path and the query, and members of the body. */
function argumentsOf({ method }: Declaration, described: Json): { given: Arguments; members: Arguments } {
  const given = (described.parameters as { name: string; in: string; required: boolean; schema: Json }[])
    .filter((parameter) => parameter.required && parameter.in !== 'header')
    .map(({ name, schema }): [string, Json] => [name, schema]);
  const [content] = Object.values(contentOf(described));
  const { properties = {}, required = [] } = (content?.schema ?? {}) as Shape;
  const isNeeded = (name: string) =>
    required.includes(name) || neededBySdks.has(name) || (method === 'PATCH' && name === 'default');
  return { given, members: Object.entries(properties).filter(([name]) => isNeeded(name)) };
}

function contentOf({ requestBody }: Json): Readonly<Record<string, { readonly schema: Json }>> {
  return (requestBody as { content: Record<string, { schema: Json }> } | undefined)?.content ?? {};
}

type Shape = { readonly properties?: Record<string, Json>; readonly required?: readonly string[] };

function sourceOf(
  declaration: Declaration,
  { service, method }: SdkMethod,
  args: Arguments,
  { name, endpoint }: { readonly name: Sdk; readonly endpoint: string },
): string {
  const sdk = sdks[name];
  const variable = service === 'TablesDB' ? 'tablesDB' : service.toLowerCase();
  const members = args.map(([key, schema]) => {
    const isFile = schema.format === 'binary';
    return `  ${key === 'default' ? 'xdefault' : key}: ${isFile ? sdk.file : literal(exampleOf(key, schema))},\n`;
  });
  const imports = args.some(([, schema]) => schema.format === 'binary') ? sdk.imports : '';
  const client = [
    'const client = new Client()',
    `  .setEndpoint('${endpoint}')`,
    `  .setProject('<PROJECT_ID>')${name === 'node' ? credentialOf(declaration) : ''};`,
  ];
  const object = members.length === 0 ? '' : `{\n${members.join('')}}`;
  return [
    `import { Client, ${service} } from '${sdk.package}';\n${imports}`,
    ...client,
    `const ${variable} = new ${service}(client);\n`,
    `const result = await ${variable}.${method}(${object});`,
  ].join('\n');
}

function credentialOf({ access: { auth } }: Declaration): string {
  if (auth.includes('key')) return "\n  .setKey('<SERVER_KEY>')";
  return auth.includes('user') && !auth.includes('guest') ? "\n  .setSession('<SESSION_SECRET>')" : '';
}

/** Examples of strings by format. */
const formats: Readonly<Record<string, string>> = {
  email: 'anna@example.com',
  uri: 'https://example.com',
  'date-time': '2030-01-31T12:00:00.000Z',
};

/** An example of a value: a placeholder for strings, else a value of the type. */
function exampleOf(key: string, schema: Json): unknown {
  const [choice] = (schema.anyOf ?? schema.oneOf ?? []) as Json[];
  if (choice !== undefined) return exampleOf(key, choice);
  const [first] = (schema.enum as unknown[] | undefined) ?? [];
  if (first !== undefined || schema.const !== undefined) return first ?? schema.const;
  if (key === 'documentId' || key === 'rowId') return 'unique()';
  switch (schema.type) {
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema.minimum ?? 1));
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return formats[String(schema.format)] ?? `<${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}>`;
  }
}

const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
