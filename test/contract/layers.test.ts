// Shows that the layer rules hold, that they were asked about every file, and that each of them can fail.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { ICruiseResult } from 'dependency-cruiser';
import { copyCheckout, root } from '../harness/checkout.js';
import { after } from '../harness/runner.js';

const require = createRequire(import.meta.url);
const config: { forbidden: { name: string; to: { path?: string } }[] } = require(join(root, '.dependency-cruiser.cjs'));

const { dependencies }: { dependencies: Record<string, string> } = require(join(root, 'package.json'));

/** Packages that only one folder may import, from the day of their installation. */
const confined = [
  ...['commander', 'inquirer', 'koa', '@koa/router', 'knex', 'sqlite3', 'pg', 'scrypt-kdf', 'jose', 'otplib'],
  ...[
    '@simplewebauthn/server',
    'samlify',
    'graphql-helix',
    'node-cron',
    'undici',
    'prom-client',
    'bowser',
    'nodemailer',
    'openid-client',
    '@aws-sdk/client-s3',
    '@opentelemetry/api',
    'sharp',
    '@fastify/busboy',
    'file-type',
  ],
];

/** [rule, file under src, import that the rule forbids there] */
const violations: [string, string, string][] = [
  ['no-circular', 'platform/planted/circle-a', "import '#src/platform/planted/circle-b.js';"],
  ['nothing-unresolved', 'platform/planted/unresolved', "import 'planted-nowhere';"],
  [
    'contract-imports-nothing',
    'contract/planted/up',
    "import type { planted } from '#src/platform/planted/target.js';",
  ],
  ['contract-imports-only-zod', 'contract/planted/npm', "import type { Ajv } from 'ajv';"],
  ['platform-imports-no-features', 'platform/planted/feature', "import '#src/features/planted/index.js';"],
  ['platform-imports-no-features', 'platform/planted/wiring', "import '#src/appliance-planted.js';"],
  ['features-import-no-transport', 'features/planted/http', "import '#src/http/planted/target.js';"],
  ['features-import-no-transport', 'features/planted/graphql', "import '#src/graphql/planted/target.js';"],
  ['features-import-no-transport', 'features/planted/cli', "import '#src/cli/planted/target.js';"],
  [
    'features-import-no-transport',
    'features/planted/wiring',
    "import type { planted } from '#src/appliance-planted.js';",
  ],
  [
    'areas-import-by-index',
    'features/identity/planted/area',
    "import '#src/features/installation/planted-other/index.js';",
  ],
  ['installation-imports-no-area', 'features/installation/planted/up', "import '#src/features/identity/index.js';"],
  ['events-import-no-identity', 'features/events/planted/up', "import '#src/features/data/index.js';"],
  ['identity-and-data-are-separate', 'features/data/planted/aside', "import '#src/features/identity/index.js';"],
  ['identity-and-data-are-separate', 'features/identity/planted/aside', "import '#src/features/data/index.js';"],
  [
    'features-import-by-index',
    'features/identity/planted/neighbour',
    "import '#src/features/identity/planted-other/store.js';",
  ],
  [
    'login-methods-are-separate',
    'features/identity/login/planted/other',
    "import '#src/features/identity/login/planted-other/index.js';",
  ],
  ['transport-imports-by-index', 'http/planted/store', "import '#src/features/planted/store.js';"],
  ['transport-imports-by-index', 'graphql/planted/store', "import '#src/features/planted/store.js';"],
  ['transport-imports-by-index', 'cli/planted/store', "import '#src/features/planted/store.js';"],
  ['transport-imports-by-index', 'appliance-planted-store', "import '#src/features/planted/store.js';"],
  ['http-imports-no-cli', 'http/planted/cli', "import '#src/cli/planted/target.js';"],
  ['http-imports-no-cli', 'graphql/planted/wiring', "import '#src/appliance-planted.js';"],
  ['koa-only-in-http', 'features/planted/koa', "import type Koa from 'koa';"],
  ['koa-only-in-http', 'graphql/planted/router', "import '@koa/router';"],
  ['ws-only-in-http', 'features/planted/ws', "import { WebSocket } from 'ws';"],
  ['knex-only-in-db', 'features/planted/knex', "import knex from 'knex';"],
  ['commander-only-in-cli', 'features/planted/commander', "import type { Command } from 'commander';"],
  ['commander-only-in-cli', 'http/planted/inquirer', "export const later = () => import('inquirer');"],
  ['graphql-only-in-graphql', 'http/planted/graphql', "import 'graphql';"],
  ['graphql-only-in-graphql', 'http/planted/helix', "import 'graphql-helix';"],
  ['otp-only-in-factors', 'features/planted/otp', "export const later = () => import('otplib');"],
  [
    'webauthn-only-in-passkeys',
    'features/planted/webauthn',
    "export const later = () => import('@simplewebauthn/server');",
  ],
  ['cron-only-in-scheduler', 'features/planted/cron', "import 'node-cron';"],
  ['cron-only-in-scheduler', 'platform/planted/cron', "import type { ScheduledTask } from 'node-cron';"],
  ['jose-only-in-jwt', 'features/planted/jose', "export const later = () => import('jose');"],
  ['jose-only-in-jwt', 'http/planted/jose', "import type { JWTPayload } from 'jose';"],
  ['openid-only-in-oauth2', 'features/planted/openid', "import type { Configuration } from 'openid-client';"],
  ['openid-only-in-oauth2', 'platform/planted/openid', "export const later = () => import('openid-client');"],
  ['saml-only-in-protocol', 'features/planted/saml', "export const later = () => import('xml-crypto');"],
  ['saml-only-in-protocol', 'platform/planted/saml', "export const later = () => import('samlify');"],
  ['s3-only-in-file-store', 'features/planted/s3', "export const later = () => import('@aws-sdk/client-s3');"],
  ['s3-only-in-file-store', 'platform/planted/s3', "import type { S3Client } from '@aws-sdk/client-s3';"],
  ['opentelemetry-only-in-tracing', 'platform/planted/trace', "import type { Span } from '@opentelemetry/api';"],
  ['loaded-when-needed', 'platform/planted/tracing', "import '#src/platform/tracing/sdk.js';"],
  ['sharp-only-in-images', 'features/planted/sharp', "export const later = () => import('sharp');"],
  ['qr-only-in-qr-code', 'platform/planted/qr', "export const later = () => import('qr');"],
  ['facts-only-in-assets', 'platform/planted/facts', "export const later = () => import('countries-list');"],
  ['loaded-when-needed', 'features/assets/locale/planted', "import '#src/features/assets/locale/service.js';"],
  ['busboy-only-in-upload', 'features/planted/form', "export const later = () => import('@fastify/busboy');"],
  ['file-type-only-in-media-type', 'features/planted/kind', "export const later = () => import('file-type');"],
  ['loaded-when-needed', 'platform/planted/s3-store', "import '#src/platform/file-store/s3.js';"],
  ['loaded-when-needed', 'platform/planted/pipeline', "import '#src/platform/images/pipeline.js';"],
  ['mail-only-in-mailer', 'features/planted/mail', "export const later = () => import('nodemailer');"],
  ['mail-only-in-mailer', 'platform/planted/mail', "import type { Transporter } from 'nodemailer';"],
  ...['undici', 'prom-client', 'scrypt-kdf', '@node-rs/argon2', 'bcryptjs', 'sqlite3', 'pg'].map(
    (name): [string, string, string] => [
      'machines-only-in-platform',
      `features/planted/${name.replace('/', '-')}`,
      `export const later = () => import('${name}');`,
    ],
  ),
  ['bowser-only-in-activity', 'features/planted/browser', "export const later = () => import('bowser');"],
  ['loaded-when-needed', 'features/events/activity/planted-browser', "import 'bowser';"],
  ['loaded-when-needed', 'platform/planted/argon2', "import '@node-rs/argon2';"],
  ['loaded-when-needed', 'platform/planted/bcrypt', "import 'bcryptjs';"],
  ['loaded-when-needed', 'platform/planted/foreign', "import '#src/platform/crypto/foreign-hashes/verify-planted.js';"],
  ['loaded-when-needed', 'features/planted/dictionary', "import '@zxcvbn-ts/language-common';"],
  ['loaded-when-needed', 'features/identity/factors/planted', "import 'otplib';"],
  ['loaded-when-needed', 'features/identity/passkeys/planted', "import '@simplewebauthn/server';"],
  ['loaded-when-needed', 'cli/planted/questions', "import 'inquirer';"],
  ['loaded-when-needed', 'graphql/planted/engine', "import '#src/graphql/engine.js';"],
  [
    'loaded-when-needed',
    'features/identity/login/saml/planted',
    "import '#src/features/identity/login/saml/protocol/index.js';",
  ],
  ['loaded-when-needed', 'platform/planted/egress', "import '#src/platform/outbound/egress-client.js';"],
  ['loaded-when-needed', 'platform/planted/driver', "import '#src/platform/db/sqlite.js';"],
];

/** [file under src, import that looks like a violation and is none] */
const permitted: [string, string][] = [
  // The other half of the circle: one circle is reported once.
  ['platform/planted/circle-b', "import type { planted } from '#src/platform/planted/circle-a.js';"],
  ['platform/planted/argon2-later', "export const argon2 = () => import('@node-rs/argon2');"],
  [
    'features/identity/sessions/planted-browser-later',
    "import { createRequire } from 'node:module';\nexport const later = () => createRequire(import.meta.url)('bowser');",
  ],
  ['graphql/planted/engine-type', "import type { Engine } from '#src/graphql/engine.js';"],
  ['features/planted/knex-type', "import type { Knex } from 'knex';"],
  [
    'features/identity/planted/doors',
    "import '#src/features/identity/planted-other/index.js';\nimport '#src/features/identity/planted-other/api.js';",
  ],
  ['features/identity/login/planted-roster', "import '#src/features/identity/login/planted/index.js';"],
  ['features/identity/planted/lower-area', "import '#src/features/installation/index.js';"],
  ['http/planted/door', "import '#src/features/planted/index.js';"],
];

const copy = copyCheckout([
  ...['package.json', 'tsconfig.json', 'esbuild.config.js', '.dependency-cruiser.cjs', 'knip.json'],
  ...['src', 'test', 'bench', 'bin', 'migrations'],
]);
after(() => copy.dispose());

function plant(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) writeFileSync(path, text);
}

function run(dir: string, tool: string, args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [join(dir, 'node_modules', tool), ...args], {
    cwd: dir,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  assert.ok(stdout.startsWith('{'), `${tool} printed no report: ${stdout}${stderr}`);
  return stdout;
}

for (const [, file, text] of violations) plant(join(copy.dir, 'src', `${file}.ts`), text);
for (const [file, text] of permitted) plant(join(copy.dir, 'src', `${file}.ts`), text);
const texts = [...violations.map(([, , text]) => text), ...permitted.map(([, text]) => text)];
for (const [, target] of texts.join('\n').matchAll(/'#src\/(.+)\.js'/g)) {
  plant(join(copy.dir, 'src', `${target}.ts`), 'export const planted = 1;');
}
// A rule about a package holds before the package is first installed.
for (const name of ['graphql', 'graphql-helix']) {
  if (!existsSync(join(copy.dir, 'node_modules', name))) plant(join(copy.dir, '../node_modules', name, 'index.js'), '');
}

/** One report on the copy with the planted files. Its results for all other files hold for the checkout. */
const report: ICruiseResult = JSON.parse(
  run(copy.dir, 'dependency-cruiser/bin/dependency-cruise.mjs', [
    ...['src', '--config', '.dependency-cruiser.cjs', '--output-type', 'json'],
  ]),
);
const found = report.summary.violations;
const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => `src/${path}`);
const modules = report.modules.filter(({ source }) => files.includes(source));

test('every file of src was looked at and none breaks a rule', () => {
  assert.ok(files.length > 0);
  assert.deepEqual(modules.map(({ source }) => source).sort(), files.sort());
  const planted = violations.map(([, file]) => `src/${file}.ts`);
  assert.deepEqual(
    found.filter(({ from }) => !planted.includes(from)),
    [],
  );
});

test('src imports the packages that are installed for it, each of them and no other', () => {
  const names = modules
    .flatMap((module) => module.dependencies)
    .filter(({ dependencyTypes }) => dependencyTypes.some((type) => type.startsWith('npm')))
    .map(({ module }) => module.split('/', module.startsWith('@') ? 2 : 1).join('/'));
  assert.deepEqual([...new Set(names)].sort(), Object.keys(dependencies).sort());
});

test('a rule confines each package to its folder', () => {
  const rules = config.forbidden.filter(({ name }) => name.includes('-only-in-'));
  const free = confined
    .filter((name) => name in dependencies)
    .filter((name) => !rules.some(({ to }) => new RegExp(to.path ?? '^$').test(`node_modules/${name}/`)));
  assert.deepEqual(free, []);
});

test('each rule finds its planted violations, and no other rule does', () => {
  assert.deepEqual(new Set(violations.map(([rule]) => rule)), new Set(config.forbidden.map((rule) => rule.name)));
  for (const [rule, file] of violations) {
    const rules = found.filter(({ from }) => from === `src/${file}.ts`).map((violation) => violation.rule.name);
    assert.deepEqual(rules, [rule], file);
  }
});

test('a dead file, export and dependency are found', () => {
  appendFileSync(join(copy.dir, 'src/appliance.ts'), 'export const plantedDeadExport = 1;\n');
  plant(join(copy.dir, 'src/planted-dead-file.ts'), 'export const planted = 1;\n');
  const manifest = JSON.parse(readFileSync(join(copy.dir, 'package.json'), 'utf8'));
  manifest.dependencies['planted-dead-dependency'] = '1.0.0';
  writeFileSync(join(copy.dir, 'package.json'), JSON.stringify(manifest, null, 2));

  const [, ...flags] = manifest.scripts.deadcode.split(' ');
  const report: {
    files: string[];
    issues: { file: string; dependencies: { name: string }[]; exports: { name: string }[] }[];
  } = JSON.parse(run(copy.dir, 'knip/bin/knip.js', [...flags, '--reporter', 'json']));
  assert.ok(report.files.includes('src/planted-dead-file.ts'), 'the dead file was not reported');
  const names = report.issues.flatMap((issue) => [...issue.exports, ...issue.dependencies]).map(({ name }) => name);
  assert.ok(names.includes('plantedDeadExport'), 'the dead export was not reported');
  assert.ok(names.includes('planted-dead-dependency'), 'the dead dependency was not reported');
});
