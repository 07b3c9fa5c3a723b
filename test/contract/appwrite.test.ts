// docs/appwrite.md against the installed SDKs and the routes that are served: a method is missing exactly where the page says so.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Query } from 'node-appwrite';
import { createApp } from '#src/http/app.js';
import { routePathsOf } from '#src/http/routes.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { code, codes, readTable } from '../harness/markdown.js';

const page = 'docs/appwrite.md';
const target = await startAppliance();
const { runtime, features } = target.appliance;
const routes = new Set(
  createApp(runtime, features).state.operations.flatMap(({ declaration }) =>
    routePathsOf(declaration).map((path) => `${declaration.method} ${path.replace('/v1', '').replace(/:\w+/g, '{}')}`),
  ),
);
/** The methods of each service of an SDK with their routes, from the text of its classes. */
function methodsOf(text: string): Map<string, Map<string, string>> {
  const services = new Map<string, Map<string, string>>();
  for (const [, service = '', body = ''] of text.matchAll(/^(?:const \w+ = )?class _?(\w+) \{\n([\s\S]*?)^\}/gm)) {
    const methods = new Map<string, string>();
    let [name, path] = ['', ''];
    for (const line of body.split('\n')) {
      const next = /^ {2,4}(?:async )?(\w+)\(.*\) \{$/.exec(line)?.[1] ?? name;
      // The browser is sent to the address of a method without a call.
      if (next !== name && path !== '') methods.set(name, `GET ${path}`);
      if (next !== name) [name, path] = [next, ''];
      path = /apiPath = ["'`](.*?)["'`]/.exec(line)?.[1]?.replace(/\{\w+\}/g, '{}') ?? path;
      const verb =
        /^\s+(?:return \w+ this\.client\.\w+\()?["'](get|post|put|patch|delete)["'],|call\(["'](\w+)["']/.exec(line);
      if (verb === null || path === '') continue;
      methods.set(name, `${(verb[1] ?? verb[2] ?? '').toUpperCase()} ${path}`);
      path = '';
    }
    if (methods.size > 0) services.set(service, methods);
  }
  return services;
}

const modules = join(root, 'node_modules');
const serverFiles = readdirSync(join(modules, 'node-appwrite/dist/services')).filter((name) => name.endsWith('.js'));
const sdks = {
  web: methodsOf(readFileSync(join(modules, 'appwrite/dist/esm/sdk.js'), 'utf8')),
  server: methodsOf(
    serverFiles.map((name) => readFileSync(join(modules, 'node-appwrite/dist/services', name), 'utf8')).join('\n'),
  ),
};
const rows = readTable(page, 'service');

test('the page names the versions of the SDKs that are installed', () => {
  const text = readFileSync(join(root, page), 'utf8');
  for (const name of ['appwrite', 'node-appwrite']) {
    const { version } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
    assert.ok(text.includes(`\`${name}\` ${version}`), `${name} ${version}`);
  }
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const installed = Object.entries<string>(devDependencies).flatMap(([name, version]) => {
    const [, client = name, of = version] = /^npm:(.+)@(.+)$/.exec(version) ?? [];
    return ['appwrite', 'node-appwrite'].includes(client) ? [[client, of] as const] : [];
  });
  const named = readTable(page, 'client').flatMap(([client, versions = '']) =>
    versions.split(', ').map((version) => [code(client), version] as const),
  );
  assert.deepEqual(named.map(String).sort(), installed.map(String).sort());
});

for (const [name, sdk] of Object.entries(sdks)) {
  test(`the methods that the ${name} SDK has and the service has not`, () => {
    assert.ok(sdk.size > 5, [...sdk.keys()].join());
    const whole = codes(readFileSync(join(root, page), 'utf8').match(/as a whole:\n\n(.*)\n/)?.[1]);
    for (const [service, methods] of sdk) {
      const missing = [...methods].filter(([, route]) => !routes.has(route));
      const absent = missing.map(([method]) => method);
      const row = rows.find(([cell]) => code(cell) === service);
      if (row === undefined) {
        assert.deepEqual([whole.includes(service), absent.length], [true, methods.size], service);
        continue;
      }
      const named = codes(row[1]);
      const documented = row[1]?.startsWith('all but')
        ? [...methods.keys()].filter((method) => !named.includes(method))
        : named.filter((method) => methods.has(method));
      assert.deepEqual(absent.sort(), documented.sort(), service);
    }
  });
}

test('the methods that work stand in the table, each once, since a version that there is', () => {
  const changelog = readFileSync(join(root, 'docs/CHANGELOG.md'), 'utf8');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const released = [...changelog.matchAll(/^## \[?(\d+\.\d+\.\d+)/gm)].map(([, one]) => one);
  const table = readTable(page, 'service, methods that work');
  for (const [cell, since] of table) assert.ok([version, ...released].includes(since), `${cell}: ${since}`);
  const names = new Set([...sdks.web.keys(), ...sdks.server.keys()]);
  const served = [...names].flatMap((service) => {
    const all = [sdks.web, sdks.server].flatMap((sdk) => [...(sdk.get(service) ?? [])]);
    const methods = new Set(all.filter(([, route]) => routes.has(route)).map(([method]) => method));
    return methods.size === 0 ? [] : [[service, [...methods].sort()] as const];
  });
  // What the failure shows as missing is the row to be written.
  const documented = [...new Set(table.map(([cell]) => code(cell)))].map((service) => {
    const rows = table.filter(([cell]) => code(cell) === service);
    return [service, rows.flatMap(([, , methods]) => codes(methods)).sort()] as const;
  });
  const lines = (all: typeof served) => all.map(([service, methods]) => `${service}: ${methods.join(' ')}`).sort();
  assert.deepEqual(lines(documented), lines(served));
});

test("a call of an unsupported feature says so, and an application's page may read the answer", async () => {
  const served = [...routes].map((route) => new RegExp(`^\\S+ ${route.split(' ')[1]?.replaceAll('{}', '[^/]+')}$`));
  const called = Object.values(sdks).flatMap((sdk) => [...sdk.values()].flatMap((methods) => [...methods.values()]));
  // A path that is served, also one that looks like it with an id, is answered by what is served there.
  const absent = new Set(called.filter((route) => !served.some((pattern) => pattern.test(route))));
  assert.ok(absent.size > 100);
  const wrong: string[] = [];
  for (const route of absent) {
    const [method = '', path = ''] = route.split(' ');
    const headers = { Origin: 'http://localhost:5173', 'X-Appwrite-Project': target.project.id };
    const address = `${target.origin}/v1${path.replaceAll('{}', 'some')}`;
    const answer = await fetch(address, { method, headers });
    const { type, message } = (await answer.json()) as Record<string, string>;
    if (type !== 'general_feature_unsupported') wrong.push(`${route}: ${answer.status} ${type}`);
    else assert.match(message ?? '', /^This service does not have \S/);
    assert.equal(answer.headers.get('Access-Control-Allow-Origin'), headers.Origin);
  }
  assert.deepEqual(wrong, []);
});

test('every method of Query is in the table, or one of places and vectors', () => {
  const rest =
    /^(constructor|parseQuery|distance|vector|intersects|notIntersects|crosses|notCrosses|overlaps|notOverlaps|touches|notTouches)/;
  const methods = Object.getOwnPropertyNames(Query).filter((name) => typeof Reflect.get(Query, name) === 'function');
  const named = readTable(page, 'methods of `Query`').flatMap(([cell]) => codes(cell));
  assert.deepEqual(methods.filter((name) => !rest.test(name)).sort(), named.sort());
});
