// What the imports cannot show: time, chance, network, environment and console are asked for, never taken from the air.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';

type Rule = { name: string; where: RegExp; pattern: RegExp; planted: string[]; permitted: string[] };

/** A platform machine or a command may touch the world; everything between them is handed what it needs. */
const betweenPlatformAndCli = /^(?!platform\/|cli\/)/;

/** Files that parse what the service has printed itself, or what a provider has answered within a bound of bytes; never what a caller sent. */
const parsesOwnText = [
  'features/data/documents/transfer/match',
  'features/data/documents/access/access',
  'features/data/documents/relations/operated',
  'features/data/documents/access/rows',
  'features/data/documents/reads/places',
  'features/data/documents/store/readers',
  'features/data/documents/reads/reads',
  'features/data/documents/relations/writes',
  'features/data/documents/model/row',
  'features/data/documents/scans/index',
  'features/data/documents/transfer/match',
  'features/data/documents/model/view',
  'features/data/documents/reads/within',
  'features/data/files/readers',
  'features/operations/backup/load',
  'features/operations/copy/copy',
  'platform/archive/reader',
  'features/data/files/reads',
  'features/events/audit/chain/entry',
  'features/events/audit/chain/export-file',
  'features/events/readers/index',
  'features/events/realtime/sockets/slices',
  'features/events/realtime/subscriptions/queries',
  'features/events/webhooks/deliveries/erasure',
  'features/events/webhooks/deliveries/fan-out',
  'features/identity/external-logins/service',
  'features/identity/identities/service',
  'features/identity/login/oauth2/client/transport',
  'features/identity/login/oauth2/provider-test',
  'features/identity/login/saml/own-keys/index',
  'features/identity/providers/service',
  'features/identity/user-management/targets/index',
  'features/installation/courier/model/content',
  'graphql/schema',
  'http/openapi-collections',
  'http/openapi-responses',
  'platform/db/table',
  'platform/crypto/foreign-hashes/hash',
  'platform/crypto/key-ring',
  'platform/images/converter',
  'platform/images/process',
  'platform/runtime/version',
];

const rules: Rule[] = [
  {
    name: 'JSON of a request is parsed by readJson, which bounds it first',
    where: new RegExp(`^(?!cli/|platform/text/json\\.ts$|(?:${parsesOwnText.join('|')})\\.ts$)`),
    pattern: /\bJSON\.parse\b|\bparseJson\b|\blossless-json\b/,
    planted: [
      'JSON.parse(text)',
      "import { parseJson } from '#src/platform/text/json.js';",
      "import { parse } from 'lossless-json';",
    ],
    permitted: ['readJson(text)', 'JSON.stringify(value)'],
  },
  {
    name: 'time comes from the clock',
    where: betweenPlatformAndCli,
    pattern: /\bDate\.now\(|\bnew Date\(\s*\)|\bnew Date\b(?!\s*\()|\bperformance\.now\(|\bprocess\.hrtime\b/,
    planted: [
      'const at = Date.now();',
      'const at = new Date();',
      'const at = new Date;',
      'performance.now()',
      'process.hrtime()',
    ],
    permitted: ['new Date(account.createdAt)', 'clock.now()'],
  },
  {
    name: 'chance comes from random',
    where: betweenPlatformAndCli,
    pattern: /\bMath\.random\b|\b(?:randomBytes|randomUUID|randomInt|getRandomValues)\b/,
    planted: ['Math.random()', 'randomBytes(16)', 'crypto.randomUUID()', 'randomInt(6)', 'getRandomValues(bytes)'],
    permitted: ['random.digits(6)'],
  },
  {
    name: 'the network is reached through egress',
    where: betweenPlatformAndCli,
    pattern: /(?<![\w.])(?:globalThis\.)?fetch\(/,
    planted: ['await fetch(url)', 'globalThis.fetch(url)'],
    permitted: ['egress.fetch(url)', 'prefetch(url)'],
  },
  {
    name: 'settings come from the configuration',
    where: betweenPlatformAndCli,
    pattern: /\bprocess\.env\b/,
    planted: ['process.env.HOME', "process.env['HOME']"],
    permitted: ['config.env'],
  },
  {
    name: 'what happens is told to the log',
    where: betweenPlatformAndCli,
    pattern: /\bconsole\./,
    planted: ["console.log('here')", 'console.error(cause)'],
    permitted: ["log.info('here')"],
  },
  {
    name: 'neither the Host header nor a client decides where a redirect leads',
    where: /^/,
    pattern: /\bctx\.(?:request\.|response\.)?(?:redirect|host|hostname|href|origin)\b/,
    planted: [
      'ctx.redirect(url)',
      'ctx.host',
      'ctx.request.hostname',
      'ctx.href',
      'ctx.origin',
      'ctx.response.redirect(url)',
    ],
    permitted: ['config.host', 'ctx.headers.origin'],
  },
  {
    name: 'a file has at most 400 lines',
    where: /^/,
    pattern: /^(?:.*\n){400}./,
    planted: [`${'line\n'.repeat(400)}line\n`],
    permitted: ['line\n'.repeat(400)],
  },
];

for (const { name, where, pattern, planted, permitted } of rules) {
  test(name, () => {
    for (const text of planted) assert.match(text, pattern);
    for (const text of permitted) assert.doesNotMatch(text, pattern);

    const src = join(root, 'src');
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
    assert.ok(files.length > 0);
    const found = files.filter((path) => where.test(path) && pattern.test(readFileSync(join(src, path), 'utf8')));
    assert.deepEqual(found, []);
  });
}

test('the rules about the world leave platform and cli alone, and nothing else', () => {
  const bound = [
    'contract/a.ts',
    'features/cli/a.ts',
    'http/platform/a.ts',
    'appliance.ts',
    'client/a.ts',
    'platforms.ts',
  ];
  for (const path of bound) assert.match(path, betweenPlatformAndCli);
  for (const path of ['platform/runtime/clock.ts', 'cli/main.ts']) assert.doesNotMatch(path, betweenPlatformAndCli);
});
