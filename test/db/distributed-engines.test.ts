// docs/scaling.md says which features of Postgres the service uses that distributed engines lack. This is found in the schema and in the code.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aBackend } from '../documents/setup.js';
import { databaseUnderTest, startAppliance } from '../harness/appliance.js';
import { root } from '../harness/checkout.js';
import { runSql } from '../harness/database.js';

const skip = databaseUnderTest === 'sqlite' && 'it is about Postgres';

/** Queries that count uses of a feature in the schema, by the names on the page. */
const inSchema: Record<string, string> = {
  'triggers and functions in PL/pgSQL': `select count(*) as n from pg_trigger where not tgisinternal`,
  'generated columns': `select count(*) as n from pg_attribute where attgenerated <> ''`,
  'partial indexes': `select count(*) as n from pg_index where indpred is not null`,
  'indexes over expressions': `select count(*) as n from pg_index join pg_class on pg_class.oid = indexrelid where indexprs is not null and relnamespace = 'public'::regnamespace`,
  'foreign keys': `select count(*) as n from pg_constraint where contype = 'f'`,
  'unique keys that do not begin with the project': `select count(*) as n from pg_index join pg_attribute on attrelid = indrelid and attnum = indkey[0]
     where indisunique and indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace) and attname <> 'project_id'`,
};

/** What statements in the code say. */
const inCode: Record<string, RegExp> = {
  '`LISTEN` and `NOTIFY`': /pg_notify/,
  'advisory locks': /pg_advisory_xact_lock/,
  '`FOR UPDATE SKIP LOCKED`': /for update skip locked/,
  'statements that change several tables (`WITH … INSERT`)': /with \$\{others\.join/,
};

test('docs/scaling.md names what distributed engines would have to support', { skip }, async () => {
  const target = await startAppliance();
  const { collection } = await aBackend(target);
  await collection({ attributes: { text: { type: 'string', size: 100 } } });
  const used = [];
  for (const [name, sql] of Object.entries(inSchema)) {
    const [row] = await runSql(target, sql, []);
    if (Number(row?.n) > 0) used.push(name);
  }
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const code = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(root, 'src', file), 'utf8'));
  for (const [name, pattern] of Object.entries(inCode)) if (code.some((text) => pattern.test(text))) used.push(name);
  const page = readFileSync(join(root, 'docs/scaling.md'), 'utf8');
  const [, table = ''] = /\| the service uses \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  const named = table.split('\n').flatMap((line) => line.split('|')[1]?.trim() || []);
  assert.deepEqual(named.sort(), used.sort());
});
