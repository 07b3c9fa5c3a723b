// The code samples of the API description, run with the SDKs as published: each must send the request of its operation.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import * as web from 'appwrite';
import * as node from 'node-appwrite';
import { InputFile } from 'node-appwrite/file';
import { createApp } from '#src/http/app.js';
import { describeApi } from '#src/http/openapi.js';
import { startAppliance } from '../harness/appliance.js';
import { after } from '../harness/runner.js';

type Sample = { readonly label: string; readonly source: string };
type Described = { readonly operationId: string; readonly 'x-codeSamples'?: readonly Sample[] };

const server = createServer();
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

const { runtime, features } = (await startAppliance()).appliance;
const { operations } = createApp(runtime, features).state;
const { paths, tags } = describeApi(operations, undefined, { baseUrl: `${endpoint}/` }) as {
  paths: Record<string, Record<string, Described>>;
  tags: { name: string; 'x-displayName'?: string }[];
};
const described = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
);

/** The requests that arrived at the endpoint of the samples. */
const arrived: string[] = [];
server.on('request', ({ method, url }, response) => {
  arrived.push(`${method} ${new URL(url ?? '', endpoint).pathname}`);
  response.setHeader('Content-Type', 'application/json').end('{"$id":"one","chunksTotal":1,"chunksUploaded":1}');
});

/** Stand-ins for what samples name beside the SDK: a field for files, and the window of a browser. */
const file = new File(['text'], 'picture.png', { type: 'image/png' });
const beside = {
  document: { getElementById: () => ({ files: [file] }) },
  InputFile: { fromPath: () => InputFile.fromPlainText('text', 'picture.png') },
};
const location = {
  set href(address: string) {
    arrived.push(`GET ${new URL(address).pathname}`);
  },
};

/** Matches requests of an operation at any of its paths. */
const patternsOf = (id: string) =>
  described
    .filter(({ operationId }) => operationId === id || operationId.startsWith(`${id}__`))
    .map(({ method, path }) => new RegExp(`^${method} /v1${path.replace(/\{\w+\}/g, '[^/]+')}$`));

/** Runs a sample. Returns the method and the path of its request. */
async function requestOf({ label, source }: Sample): Promise<string | undefined> {
  arrived.length = 0;
  const sdk = label === 'Web SDK' ? web : node;
  if (sdk === web) Object.assign(globalThis, { window: { location, localStorage: { getItem: () => null } } });
  try {
    const names = { ...sdk, ...beside };
    const code = source.replace(/^import .*\n/gm, '');
    const run = new Function(...Object.keys(names), `return (async () => { ${code}\nreturn result; })()`);
    const result: unknown = await run(...Object.values(names));
    // Some methods only return an address.
    if (typeof result === 'string' && arrived.length === 0) arrived.push(`GET ${new URL(result).pathname}`);
  } catch (error) {
    // The stand-in for the service has no useful answer.
    if (arrived.length === 0) throw error;
  } finally {
    Reflect.deleteProperty(globalThis, 'window');
  }
  return arrived[0];
}

test('each code sample sends the request of its operation', async () => {
  const faults: string[] = [];
  let count = 0;
  for (const { operationId, 'x-codeSamples': samples = [] } of described)
    for (const sample of samples) {
      count += 1;
      const sent = await requestOf(sample).catch((error: Error) => error.message);
      if (sent === undefined || !patternsOf(operationId).some((pattern) => pattern.test(sent)))
        faults.push(`${operationId} (${sample.label}): ${sent}`);
    }
  assert.deepEqual(faults, []);
  assert.ok(count > 350, String(count));
});

test('the first tag of the description is the account, the last one operations', () => {
  const names = tags.map(({ name }) => name);
  assert.deepEqual([names[0], names[1], names.at(-1)], ['account', 'sessions', 'operations']);
  for (const { name, 'x-displayName': title } of tags) assert.ok(title !== undefined, `${name} has no title`);
});
