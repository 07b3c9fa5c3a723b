// schemathesis builds requests from the OpenAPI document of a project: no response is 500 or undeclared.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { lacks, run, serveWorld } from './world.js';

const python = process.env.SVC_TEST_PYTHON ?? 'python3';
const st = python.includes('/') ? join(dirname(python), 'st') : 'st';
const seconds = process.env.SVC_TEST_SECONDS ?? '240';
const checks = 'status_code_conformance,content_type_conformance,response_schema_conformance';

test('responses are as declared', { skip: lacks(st, ['--version'], 'schemathesis') }, async () => {
  const { place, endpoint, project, key } = await serveWorld({ SVC_RATE_LIMIT: 'off' });
  const document = join(place.dir, 'openapi.json');
  const described = await place.svc(['openapi', '--project', project]);
  assert.equal(described.code, 0, described.err);
  writeFileSync(document, described.out);
  const headers = ['-H', `X-Appwrite-Project: ${project}`, '-H', `X-Appwrite-Key: ${key}`];
  const bounds = [
    '--max-time',
    seconds,
    '-n',
    '20',
    '-w',
    '1',
    '--no-shrink',
    '--continue-on-failure',
    '--request-timeout',
    '40',
  ];
  const phases = ['--phases', 'examples,coverage,fuzzing', '--checks', `not_a_server_error,${checks}`];
  // Without an SMS gateway these answer 503, as declared.
  const without = ['--exclude-path-regex', '/account/(sessions|tokens)/phone$'];
  const args = ['run', document, '--url', endpoint, ...headers, ...bounds, ...phases, ...without];
  // It writes its findings into the current directory.
  const { code, printed } = await run(st, args, {}, place.dir);
  assert.equal(code, 0, printed.slice(0, 20_000));
});
