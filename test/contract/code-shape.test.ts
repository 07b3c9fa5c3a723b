// The shape of src: sizes of functions, files of features, home files of formats, and words that were replaced. What still breaks a rule
// stands in a list of exceptions with its reason; an exception that is no longer needed fails the test, so that the lists only shrink.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from '../harness/checkout.js';

const maxFunctionLines = 60;
const maxFactoryLines = 60;

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort();
const textOf = (path: string) => readFileSync(join(root, 'src', path), 'utf8');
const parse = (path: string, text: string) => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

/** Exactly the exceptions are found: nothing new, and nothing that is no longer there. */
function onlyExceptions(found: readonly string[], exceptions: Readonly<Record<string, string>>): void {
  assert.deepEqual([...new Set(found)].sort(), Object.keys(exceptions).sort());
  for (const [name, reason] of Object.entries(exceptions)) assert.ok(reason.length > 10, `${name} has no reason`);
}

type FunctionNode = ts.FunctionLikeDeclaration & { readonly body: ts.Node };

function isFunction(node: ts.Node): node is FunctionNode {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

/** The name of a function: its own, or that of the variable or property that holds it. */
function nameOf(node: FunctionNode): string {
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  const isNamed = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent);
  return isNamed ? parent.name.getText() : '(anonymous)';
}

function linesOf(node: ts.Node): number {
  const source = node.getSourceFile();
  const line = (at: number) => source.getLineAndCharacterOfPosition(at).line;
  return line(node.getEnd()) - line(node.getStart()) + 1;
}

/** The lines of a function, in which each nested function counts as one. */
function ownLinesOf(node: FunctionNode): number {
  let lines = linesOf(node);
  const visit = (inner: ts.Node): void => {
    if (isFunction(inner)) lines -= linesOf(inner) - 1;
    else ts.forEachChild(inner, visit);
  };
  ts.forEachChild(node, visit);
  return lines;
}

/** Whether a function builds functions: it is called `create…`, or it returns an object with functions. */
function isFactory(node: FunctionNode): boolean {
  if (/^create[A-Z]/.test(nameOf(node))) return true;
  const holdsFunction = (value: ts.Node): boolean =>
    ts.isObjectLiteralExpression(value) &&
    value.properties.some(
      (property) =>
        ts.isMethodDeclaration(property) ||
        (ts.isPropertyAssignment(property) &&
          (ts.isArrowFunction(property.initializer) || ts.isFunctionExpression(property.initializer))),
    );
  const returnsOne = (inner: ts.Node): boolean => {
    if (ts.isReturnStatement(inner)) return inner.expression !== undefined && holdsFunction(inner.expression);
    return !isFunction(inner) && (ts.forEachChild(inner, returnsOne) ?? false);
  };
  return ts.isBlock(node.body) && (ts.forEachChild(node.body, returnsOne) ?? false);
}

/** Functions and factories of a file that are too long. */
function tooLong(path: string, text: string): { functions: string[]; factories: string[] } {
  const functions: string[] = [];
  const factories: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isFunction(node)) {
      const name = `${path} ${nameOf(node)}`;
      if (ownLinesOf(node) > maxFunctionLines) functions.push(name);
      if (isFactory(node) && linesOf(node) > maxFactoryLines) factories.push(name);
    }
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return { functions, factories };
}

const longFunctions: Record<string, string> = {};

const longFactories: Record<string, string> = {
  'http/server.ts listen': 'one state: the connections of a server and its end',
  'platform/images/converter.ts start': 'one state: the process and what it converts',
};

test(`a function has at most ${maxFunctionLines} lines, and a factory ${maxFactoryLines} with all its functions`, () => {
  const lines = (count: number) => '  x();\n'.repeat(count);
  const nested = `  const inner = () => {\n${lines(50)}  };\n`;
  const planted: [string, string[], string[]][] = [
    [`function a() {\n${lines(59)}}`, ['p a'], []],
    [`const a = () => {\n${lines(59)}};`, ['p a'], []],
    [`class C { a() {\n${lines(59)}} }`, ['p a'], []],
    [`function a() {\n${lines(58)}}`, [], []],
    [`function a() {\n${nested}${lines(57)}}`, [], []],
    [`function a() {\n${nested}${lines(58)}}`, ['p a'], []],
    [`function createA() {\n${nested.repeat(3)}}`, [], ['p createA']],
    [`function a() {\n${nested.repeat(3)}  return { b: () => 1 };\n}`, [], ['p a']],
    [`function a() {\n${nested.repeat(3)}  return 1;\n}`, [], []],
  ];
  for (const [text, functions, factories] of planted) assert.deepEqual(tooLong('p', text), { functions, factories });

  const found = files.map((path) => tooLong(path, textOf(path)));
  onlyExceptions(
    found.flatMap(({ functions }) => functions),
    longFunctions,
  );
  onlyExceptions(
    found.flatMap(({ factories }) => factories),
    longFactories,
  );
});

/** Types inferred from a factory, by file. The statements of a store and of migrations are its interface. */
function inferredTypes(path: string, text: string): string[] {
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const name = /ReturnType<typeof (create\w+)>/.exec(line)?.[1];
    if (name !== undefined && !/type \w+(Store|Ddl|Statements) = /.test(line)) found.push(`${path} ${name}`);
  }
  return found;
}

const inferredExceptions: Record<string, string> = {
  'features/installation/index.ts createInstallation': 'a part of the composition',
  'features/index.ts createFeatures': 'the composition of all areas, which nothing replaces',
  'features/index.ts createIdentity': 'a part of the composition',
};

test('services have written interfaces', () => {
  const planted = 'export type A = ReturnType<typeof createA>;\nexport type BStore = ReturnType<typeof createBStore>;';
  assert.deepEqual(inferredTypes('p', planted), ['p createA']);
  onlyExceptions(
    files.flatMap((path) => inferredTypes(path, textOf(path))),
    inferredExceptions,
  );
});

/** More files than this in one folder are hard to survey. */
const maxFiles = 16;

const crowded: Record<string, string> = {
  'features/events/webhooks/deliveries': 'the engine of deliveries, with one file for each of its tables',
};

function crowdedFolders(paths: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([folder, count]) => folder.startsWith('features/') && count > maxFiles)
    .map(([folder]) => folder);
}

/** The folders that a file imports from. */
function foldersOf(path: string, text: string): string[] {
  return ts
    .preProcessFile(text)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => name.startsWith('.') || name.startsWith('#src/'))
    .map((name) => dirname(name.startsWith('.') ? join(dirname(path), name) : name.slice('#src/'.length)))
    .filter((folder) => folder !== dirname(path));
}

/** Folders in import circles: removes folders whose imports are all removed, until no more can be, and returns the rest. */
function circles(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const left = new Set(imports.keys());
  for (let before = 0; before !== left.size; ) {
    before = left.size;
    for (const folder of left) if (![...(imports.get(folder) ?? [])].some((one) => left.has(one))) left.delete(folder);
  }
  return [...left];
}

function importsOfFolders(texts: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  for (const [path, text] of texts) {
    const folder = imports.get(dirname(path)) ?? new Set();
    imports.set(dirname(path), folder);
    for (const one of foldersOf(path, text)) folder.add(one);
  }
  return imports;
}

/** Getters of object literals: V8 gives each such object a hidden class of its own, which costs a request as much as all the rest of it. */
function gettersOfLiterals(path: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isGetAccessor(node) && ts.isObjectLiteralExpression(node.parent))
      found.push(`${path} ${node.name.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return found;
}

test('objects with getters are of a class', () => {
  assert.deepEqual(gettersOfLiterals('p', 'const a = { get b() { return 1; } };'), ['p b']);
  assert.deepEqual(gettersOfLiterals('p', 'class A { get b() { return 1; } }'), []);
  assert.deepEqual(
    files.flatMap((path) => gettersOfLiterals(path, textOf(path))),
    [],
  );
});

/** Objects that are spread where they are written, which only packs their members into fewer lines. */
function packedMembers(path: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression))
      found.push(`${path} ${node.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return found;
}

test('members of an object are written in it', () => {
  assert.deepEqual(packedMembers('p', 'const a = { ...{ b, c } };'), ['p ...{ b, c }']);
  assert.deepEqual(packedMembers('p', 'const a = { ...b, ...(c ? { d } : {}) };'), []);
  assert.deepEqual(
    files.flatMap((path) => packedMembers(path, textOf(path))),
    [],
  );
});

test('a folder of a feature has sixteen files at most', () => {
  const planted = Array.from({ length: maxFiles + 1 }, (_, at) => `features/a/b/${at}.ts`);
  assert.deepEqual(crowdedFolders(planted), ['features/a/b']);
  assert.deepEqual(crowdedFolders(planted.slice(1)), []);
  onlyExceptions(crowdedFolders(files), crowded);
});

test('no folder imports from one that imports from it, directly or by way of others', () => {
  const planted = new Map([
    ['a/one.ts', "import { b } from './b/two.js';"],
    ['a/b/two.ts', "import type { c } from '#src/c/three.js';"],
    ['a/four.ts', 'export const four = 4;'],
  ]);
  assert.deepEqual(circles(importsOfFolders(new Map([...planted, ['c/three.ts', '']]))), []);
  for (const back of ["import { four } from '../a/four.js';", "export const later = () => import('#src/a/four.js');"])
    assert.deepEqual(circles(importsOfFolders(new Map([...planted, ['c/three.ts', back]]))), ['a', 'a/b', 'c']);
  assert.deepEqual(circles(importsOfFolders(new Map(files.map((path) => [path, textOf(path)])))), []);
});

/** A permission or a printed document that is read as text. */
const readAsText = [
  // The beginning of a permission, as in `read("user:…")`.
  /\b(?:read|create|update|delete|write)\\?\(\\?"/,
  // A search for a piece of printed JSON.
  /\.(?:startsWith|endsWith|indexOf|lastIndexOf|includes|search|match|split)\(\s*(['`/])(?:(?!\1).)*(?:\)"|"\]|\{"|"\$|":|^\[\])/,
  /\.(?:startsWith|indexOf)\('\[\]'/,
];

const textHomes: Record<string, string> = {
  'cli/commands/bucket.ts': 'an example of a permission in a help text',
  'cli/commands/collection.ts': 'an example of a permission in a help text',
  'contract/permissions.ts': 'the home of permissions',
  'features/events/webhooks/deliveries/samples.ts': 'writes those of a document that does not exist',
  'platform/db/collection-triggers.ts': 'an index over the permissions that allow to read, released as it is',
};

test('permissions and printed JSON are read as text in their home files only', () => {
  const isFound = (text: string) => readAsText.some((pattern) => pattern.test(text));
  for (const planted of [
    `permission.startsWith('read("')`,
    `/^read\\("user:/.test(permission)`,
    `text.indexOf(')"]', from)`,
    `text.includes('"$id":')`,
    `printed.slice(printed.indexOf('{"total":'))`,
    `text.startsWith('[]', from)`,
  ])
    assert.ok(isFound(planted), planted);
  for (const permitted of [`reader.read('a')`, `name.startsWith('users/')`, 'JSON.parse(text)'])
    assert.ok(!isFound(permitted), permitted);
  onlyExceptions(
    files.filter((path) => isFound(textOf(path))),
    textHomes,
  );
});

/** Names that were replaced by the usual terms of the field. */
const replacedNames = (
  'Doors Needs By Exchange Platform mount ledger createLedger createJoin ' +
  'Lookup suspend strengthen unborn takeIn Newcomer endings heard unheard ' +
  'isHeard headOf blame standingAfter carried carriers carrierOf carry Letter ' +
  'trial operate mistakes wordsOf lazily scattered Misfit fitting createOwner ' +
  'createTrial createRoster createEndings Accounts createAccounts Typed Asked AskedQueries askedBy ' +
  'usual placeOf turns SealedPlace mostMs mostBytes'
).split(' ');
const replacedFiles = ['ways', 'owner', 'words', 'together', 'trial', 'standing', 'ledger', 'opening', 'parts-of'];

/** Identifiers and file names that are among the replaced ones. */
function replaced(path: string, text: string): string[] {
  const found = replacedFiles.includes(basename(path, '.ts')) ? [path] : [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && replacedNames.includes(node.text)) found.push(`${path} ${node.text}`);
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return found;
}

const nameExceptions: Record<string, string> = {};

test('names that were replaced do not come back', () => {
  assert.deepEqual(replaced('a/ways.ts', 'export const ledger = 1; // blame'), ['a/ways.ts', 'a/ways.ts ledger']);
  assert.deepEqual(replaced('a/b.ts', "const outbox = 'ledger';"), []);
  onlyExceptions(
    files.flatMap((path) => replaced(path, textOf(path))),
    nameExceptions,
  );
});
