// The files for containers: checked by a linter everywhere, and built where a Docker daemon answers.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { settings } from '#src/platform/config/schema.js';
import { root } from '../harness/checkout.js';

const folder = 'templates/docker';
const read = (name: string) => readFileSync(join(root, folder, name), 'utf8');
const dockerfile = read('Dockerfile');
const instructions = DockerfileParser.parse(dockerfile).getInstructions();
const settingNames = Object.values(settings).flatMap(({ key }) => [key, `${key}_FILE`]);

/** The arguments of the last instruction of a keyword. */
function last(keyword: string): string {
  const found = instructions.filter((instruction) => instruction.getKeyword() === keyword).at(-1);
  return found?.getRawArgumentsContent() ?? '';
}

test('the Dockerfile has no finding, ends as a user without rights, and runs without a shell', () => {
  assert.deepEqual(validate(dockerfile), []);
  assert.equal(last('USER'), 'node');
  for (const keyword of ['ENTRYPOINT', 'CMD']) assert.ok(Array.isArray(JSON.parse(last(keyword))), keyword);
  for (const [, name = ''] of last('ENV').matchAll(/(\w+)=/g))
    assert.ok([...settingNames, 'MALLOC_ARENA_MAX'].includes(name), name);
});

test('the context has the sources, and neither settings nor data', () => {
  const [everything, ...admitted] = read('Dockerfile.dockerignore').trim().split('\n').slice(1);
  assert.equal(everything, '*');
  for (const line of admitted) assert.ok(existsSync(join(root, line.slice(1))), line);
  for (const name of ['esbuild.config.js', 'external-packages.js', 'release.js', 'package-lock.json', 'src'])
    assert.ok(admitted.includes(`!${name}`), name);
});

test('the health check tells a server that answers from one that does not', async () => {
  const [program = '', ...args] = JSON.parse(/\[.*\]/s.exec(last('HEALTHCHECK'))?.[0] ?? '[]');
  assert.equal(program, 'node');
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(asked.length === 1 ? 200 : 503).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const port = (server.address() as AddressInfo).port;
  const check = () =>
    new Promise((resolve) => {
      spawn(process.execPath, args, { env: { SVC_PORT: String(port) } }).once('exit', resolve);
    });
  assert.equal(await check(), 0);
  assert.equal(await check(), 1, 'one that fails');
  await new Promise((resolve) => server.close(resolve));
  assert.equal(await check(), 1, 'one that is gone');
  assert.deepEqual(asked, ['/healthz', '/healthz']);
});

test('compose names settings that exist, gives secrets as files, and publishes to this machine only', () => {
  const { services, secrets } = parse(read('compose.yml'));
  const { svc, postgres } = services;
  for (const name of Object.keys(svc.environment)) assert.ok(settingNames.includes(name), name);
  for (const { secrets: used, environment } of [svc, postgres]) {
    for (const name of used) assert.match(secrets[name].file, /^\.\/secrets\//);
    for (const [name, value] of Object.entries<string>(environment))
      if (/PASSWORD|KEY|DATABASE_URL/.test(name)) assert.ok(used.includes(value.replace('/run/secrets/', '')), name);
  }
  for (const published of svc.ports) assert.match(published, /^127\.0\.0\.1:/);
  assert.ok(existsSync(join(root, folder, svc.build.context, svc.build.dockerfile)));
});

test('the image is built and answers with its version', { timeout: 280_000 }, (t) => {
  const docker = (...args: string[]) => spawnSync('docker', args, { cwd: root, encoding: 'utf8' });
  if (docker('info').status !== 0) return t.skip('no Docker daemon answers');
  const built = docker('build', '--quiet', '--file', `${folder}/Dockerfile`, '.');
  assert.equal(built.status, 0, built.stderr);
  const version = docker('run', '--rm', built.stdout.trim(), 'version', '--json');
  assert.equal(version.status, 0, version.stderr);
});
