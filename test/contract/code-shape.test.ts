// The shape of src: sizes of functions, files of features, home files of formats, and words that were replaced. What still breaks a rule
// stands in a list of exceptions with its reason; an exception that is no longer needed fails the test, so that the lists only shrink.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from '../harness/checkout.js';

const maxFunctionLines = 60;
const maxFactoryLines = 150;

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

const longFactories: Record<string, string> = {};

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

/** The files of a feature; other files stand in folders below it. */
const featureFiles = ['api.ts', 'service.ts', 'store.ts', 'view.ts', 'jobs.ts', 'index.ts'];

/** Files of features that are neither one of these nor in a folder. */
function strayFiles(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    const [floor, , , ...rest] = path.split('/');
    return floor === 'features' && rest.length === 1 && !featureFiles.includes(rest[0] ?? '');
  });
}

const partReason = 'a part of the service that has no folder yet';

const strayExceptions: Record<string, string> = {
  'features/data/databases/attribute-types.ts': 'the table of types, to which a type of attributes is added',
  'features/data/databases/schema.ts': partReason,
  'features/data/documents/access.ts': partReason,
  'features/data/files/access.ts': partReason,
  'features/data/files/check.ts': partReason,
  'features/data/files/names.ts': partReason,
  'features/data/files/reads.ts': partReason,
  'features/data/files/record.ts': partReason,
  'features/data/files/writes.ts': partReason,
  'features/data/documents/collections.ts': partReason,
  'features/data/documents/creation.ts': partReason,
  'features/data/documents/document.ts': partReason,
  'features/data/documents/errors.ts': partReason,
  'features/data/documents/list-store.ts': partReason,
  'features/data/documents/reads.ts': partReason,
  'features/data/documents/row.ts': partReason,
  'features/data/documents/serializer.ts': partReason,
  'features/data/documents/structure.ts': partReason,
  'features/data/documents/writes.ts': partReason,
  'features/events/activity/device.ts': partReason,
  'features/identity/claims/deps.ts': partReason,
  'features/identity/claims/release.ts': partReason,
  'features/identity/claims/takeover.ts': partReason,
  'features/identity/factors/demand.ts': partReason,
  'features/identity/login/declarations.ts': partReason,
  'features/identity/login/method.ts': partReason,
  'features/identity/login/operations.ts': partReason,
  'features/identity/login/phrase.ts': partReason,
  'features/identity/login/redemption.ts': partReason,
  'features/identity/login/request.ts': partReason,
  'features/identity/login/resolve-user.ts': partReason,
  'features/identity/one-time-secrets/disclosure.ts': partReason,
  'features/identity/one-time-secrets/link.ts': partReason,
  'features/identity/second-factor/challenges.ts': partReason,
  'features/identity/sessions/alerts.ts': partReason,
  'features/identity/sessions/authenticate.ts': partReason,
  'features/identity/sessions/end.ts': partReason,
  'features/identity/sessions/open.ts': partReason,
  'features/identity/sessions/records.ts': partReason,
  'features/identity/sessions/renew.ts': partReason,
  'features/identity/sessions/sessions.ts': partReason,
  'features/identity/teams/operations.ts': partReason,
  'features/identity/user-management/keys.ts': partReason,
  'features/identity/users/input.ts': partReason,
  'features/identity/users/record.ts': partReason,
  'features/installation/courier/content.ts': partReason,
  'features/installation/courier/mailbox.ts': partReason,
  'features/installation/courier/messages.ts': 'the table of messages, to which a mail or SMS is added',
  'features/installation/limits/overview.ts': partReason,
  'features/installation/limits/rates.ts': partReason,
  'features/installation/limits/refunds.ts': partReason,
  'features/installation/projects/hostnames.ts': partReason,
  'features/installation/projects/keys.ts': partReason,
  'features/installation/projects/names.ts': partReason,
  'features/installation/projects/origins.ts': partReason,
  'features/installation/projects/platforms.ts': partReason,
  'features/installation/projects/settings.ts': partReason,
};

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

test('a feature has six files at most, and folders', () => {
  assert.deepEqual(
    strayFiles(['features/a/b/extra.ts', 'features/a/b/service.ts', 'features/a/b/c/extra.ts', 'features/a/index.ts']),
    ['features/a/b/extra.ts'],
  );
  onlyExceptions(strayFiles(files), strayExceptions);
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
