// The addresses that the pages name. Whether another site answers is not checked, as the tests have no network; what can be checked without it, is:
// they are URLs, encrypted, no placeholders where somebody would click, and those of this service are routes that it has.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApp } from '#src/http/app.js';
import { routePathsOf } from '#src/http/routes.js';
import { startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';

const named = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const pages = ['README.md', 'src/README.md', ...named('docs'), ...named('docs/decisions')];
const read = (page: string) => readFileSync(join(root, page), 'utf8');

const { appliance } = await startAppliance();
const operations = createApp(appliance.runtime, appliance.features).state.operations;
/** Sockets are opened before there is an operation. */
const sockets = { method: 'GET', path: '/v1/realtime' };
const routes = [
  sockets,
  ...operations.flatMap(({ declaration }) =>
    routePathsOf(declaration).map((path) => ({ method: declaration.method, path })),
  ),
].map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}/?$`) }));
const exists = (path: string, method?: string) =>
  path === '/v1' || routes.some((route) => route.pattern.test(path) && (method ?? route.method) === route.method);

/** The addresses that a text names, without what ends a sentence after them. */
const addressesIn = (text: string) =>
  [...text.matchAll(/https?:\/\/[^\s)"'`<>|]+/g)].map(([address]) => address.replace(/[.,;:]+$/, ''));
/** The names of claims in SAML and the issuer of JWTs look like addresses; nobody fetches them. */
const names = ['http://schemas.microsoft.com/identity/claims', 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'];
const issuer = 'http://localhost:8080/v1/projects/shop';
const isExample = (host: string) => /(^|\.)example(\.(com|org|net))?$/.test(host);
const isLoopback = (host: string) => ['localhost', '127.0.0.1', '[::1]'].includes(host);
/** What stands for something that the reader has: words in capitals or in braces. */
const isPlaceholder = (address: string) => /\{|%7B|\b[A-Z]{3,}\b|\bTODO\b|…|\.\.\./.test(address);

/** What is wrong with an address that a page names. */
function findingOf(address: string): string | undefined {
  if (names.some((name) => address.startsWith(name)) || address === issuer) return undefined;
  if (!URL.canParse(address)) return 'is no URL';
  const { hostname, protocol, pathname, port } = new URL(address);
  if (protocol !== 'https:' && !isLoopback(hostname)) return 'is not encrypted';
  const isOurs = hostname === 'api.example.com' || (isLoopback(hostname) && port === '8080');
  if (isOurs && pathname !== '/' && !exists(decodeURI(pathname))) return 'is no route';
  return undefined;
}

/** What is wrong with the target of a link, which people click. */
function findingOfLink(target: string): string | undefined {
  if (isPlaceholder(target)) return 'is a placeholder';
  const { hostname } = new URL(target);
  return isExample(hostname) ? 'is an example' : undefined;
}

/** The paths of this service that a page names in code, with the method where it says one. */
function pathsIn(text: string) {
  const inline = [
    ...text.matchAll(/`(?:(GET|POST|PUT|PATCH|DELETE) )?(\/v1\/[^`\s]*|\/(?:healthz|readyz|metrics)[^`\s]*)`/g),
  ];
  const commands = [...text.matchAll(/()\$api(\/[^\s"')]+)/g)].map(([all, method, path]) => [
    all,
    method,
    `/v1${path}`,
  ]);
  return [...inline, ...commands].map(([, method, path = '']) => ({
    method: method || undefined,
    path: path.replace(/[?#].*$/, '').replace(/…$/, ''),
    isStart: /[…*/]$/.test(path),
  }));
}

test('finds faulty links', () => {
  const found = [
    'https://',
    'http://appwrite.io/',
    'https://api.example.com/v1/acount',
    'http://localhost:8080/v1/tokens',
    'http://schemas.microsoft.com/identity/claims/displayname',
    'https://api.example.com/v1/account',
    'http://localhost:3000/anything',
  ].map(findingOf);
  assert.deepEqual(found, [
    'is no URL',
    'is not encrypted',
    'is no route',
    'is no route',
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual(['https://YOUR.okta.com', 'https://app.example.com/', 'https://semver.org/'].map(findingOfLink), [
    'is a placeholder',
    'is an example',
    undefined,
  ]);
  assert.ok(!exists('/v1/healthy') && exists('/healthz') && !exists('/v1/account/jwts', 'GET'));
});

for (const page of pages) {
  test(`the addresses that ${page} names`, () => {
    const text = read(page);
    const findings = addressesIn(text).map((address) => [address, findingOf(address)] as const);
    const links = [...text.matchAll(/\]\((https?:[^)\s]+)\)|<(https?:[^>\s]+)>/g)].map(
      ([, one, two]) => one ?? two ?? '',
    );
    // A link in angle brackets shows its address: that of the service itself is meant to be opened.
    const clicked = links.filter((link) => !link.startsWith('http://localhost:8080'));
    findings.push(...clicked.map((link) => [link, findingOfLink(link)] as const));
    assert.deepEqual(
      findings.filter(([, finding]) => finding !== undefined),
      [],
    );
  });

  test(`the paths that ${page} names are served`, () => {
    const missing = pathsIn(read(page)).filter(({ path, method, isStart }) =>
      isStart
        ? !routes.some(({ pattern }) => pattern.source.replaceAll('\\', '').startsWith(`^${path}`))
        : !exists(path, method),
    );
    assert.deepEqual(missing, []);
  });
}
