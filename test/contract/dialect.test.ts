// The name of the database outside `platform/db`: it is compared in few places, which docs/decisions/database-drivers.md gives reasons for.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from '../harness/checkout.js';
import { code, readTable } from '../harness/markdown.js';

/** Most comparisons. Differences in spelling are words in `dialect-words.ts`, and reasons of several plans are facts in `dialect-facts.ts`. */
const maxComparisons = 8;

const isName = (node: ts.Node) => ts.isStringLiteralLike(node) && ['sqlite', 'postgres'].includes(node.text);
const isDialect = (node: ts.Node) => /\bdialect$/i.test(node.getText());
const equalities = [
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
];

/** True for a choice by the name of the database: a comparison, a `switch`, or a table with an entry for each database. */
function isComparison(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node) && equalities.includes(node.operatorToken.kind))
    return [node.left, node.right].some((side) => isName(side) || isDialect(side));
  if (ts.isSwitchStatement(node)) return isDialect(node.expression);
  if (!ts.isObjectLiteralExpression(node)) return false;
  const names = node.properties.map(({ name }) => name?.getText());
  return names.includes('sqlite') && names.includes('postgres');
}

/** The file of each comparison. */
function comparisons(texts: Readonly<Record<string, string>>): string[] {
  return Object.entries(texts).flatMap(([path, text]) => {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      if (isComparison(node)) found.push(path);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
    return found;
  });
}

/** Problems of the comparisons: too many, files without a reason, and reasons without a file. */
function problems(found: readonly string[], explained: readonly (string | undefined)[]): string[] {
  return [
    ...(found.length > maxComparisons ? [`${found.length} comparisons`] : []),
    ...[...new Set(found)].filter((path) => !explained.includes(path)).map((path) => `${path} has no reason`),
    ...explained
      .filter((path) => path === undefined || !found.includes(path))
      .map((path) => `${path} compares nothing`),
  ];
}

const sources = Object.fromEntries(
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('platform/db/'))
    .map((path) => [path, readFileSync(join(root, 'src', path), 'utf8')]),
);
const explained = readTable('docs/decisions/database-drivers.md', 'file').map(([cell]) => code(cell));

test('few files compare the name of the database, and each has a reason', () => {
  for (const planted of [
    `const end = sql.dialect === 'sqlite' ? 'a' : 'b';`,
    `if (dialect != other) throw error;`,
    `const isServer = 'postgres' !== kind;`,
    `switch (driver.dialect) {}`,
    `const text = { sqlite: 'a', postgres: 'b' }[name];`,
  ])
    assert.deepEqual(comparisons({ 'p.ts': planted }), ['p.ts'], planted);
  for (const permitted of [`words.isOneOf === ''`, `dialectWords[dialect].json('a')`, `run('sqlite')`])
    assert.deepEqual(comparisons({ 'p.ts': permitted }), [], permitted);

  const found = comparisons(sources);
  assert.deepEqual(problems(found, explained), []);
  const planted = comparisons({ ...sources, 'planted.ts': `if (dialect === 'sqlite') stop();` });
  assert.deepEqual(problems(planted, explained), [`${maxComparisons + 1} comparisons`, 'planted.ts has no reason']);
  assert.deepEqual(problems(found, [...explained, 'gone.ts']), ['gone.ts compares nothing']);
});
