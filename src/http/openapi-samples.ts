import type { Declaration } from '#src/contract/operation.js';
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

/**
 * Code that calls the operation by Appwrite's SDKs, as `x-codeSamples` of the description. `<PROJECT_ID>` and the like are placeholders.
 * Empty if the SDKs do not have the operation.
 */
export function codeSamplesOf(declaration: Declaration, described: Json, endpoint: string): Json[] {
  const call = sdkMethodOf(declaration);
  if (call === undefined) return [];
  const args = argumentsOf(declaration, described);
  return call.sdks.map((name) => ({
    lang: 'javascript',
    label: sdks[name].title,
    source: sourceOf(declaration, call, args, { name, endpoint }),
  }));
}

/** Members of a body that the SDKs require, also if the service does not. */
const neededBySdks = new Set(['data', 'documentId', 'name', 'platformId', 'rowId', 'url', 'webhookId']);

/** The arguments of a call: parameters and members of the body that the service or the SDKs require. */
function argumentsOf({ method }: Declaration, { parameters, requestBody }: Json): Arguments {
  const named = (parameters as { name: string; in: string; required: boolean; schema: Json }[])
    .filter((parameter) => parameter.required && parameter.in !== 'header')
    .map(({ name, schema }): [string, Json] => [name, schema]);
  const [content] = Object.values(
    (requestBody as { content: Record<string, { schema: Json }> } | undefined)?.content ?? {},
  );
  const { properties = {}, required = [] } = (content?.schema ?? {}) as Shape;
  const isNeeded = (name: string) =>
    required.includes(name) || neededBySdks.has(name) || (method === 'PATCH' && name === 'default');
  return [...named, ...Object.entries(properties).filter(([name]) => isNeeded(name))];
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
    return `  ${key === 'default' ? 'xdefault' : key}: ${isFile ? sdk.file : exampleOf(key, schema)},\n`;
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

function credentialOf({ auth }: Declaration): string {
  if (auth.includes('key')) return "\n  .setKey('<SERVER_KEY>')";
  return auth.includes('user') && !auth.includes('guest') ? "\n  .setSession('<SESSION_SECRET>')" : '';
}

/** An example of a value as JavaScript: a placeholder for strings, else a value of the type. */
function exampleOf(key: string, schema: Json): string {
  const choices = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  const [choice] = choices ?? [];
  if (choice !== undefined) return exampleOf(key, choice);
  const [first] = (schema.enum as unknown[] | undefined) ?? [];
  if (first !== undefined || schema.const !== undefined) return literal(first ?? schema.const);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return String(Math.max(1, Number(schema.minimum ?? 1)));
    case 'boolean':
      return 'true';
    case 'array':
      return '[]';
    case 'object':
      return '{}';
    default:
      return `'<${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}>'`;
  }
}

const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
