// Names of src: an exported name is declared in one module, and functions that throw unless a condition holds are called `require…`.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from '../harness/checkout.js';

/** Texts of modules by path. */
type Modules = Readonly<Record<string, string>>;

const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.ts'),
);
const modules: Modules = Object.fromEntries(
  paths.sort().map((path) => [path, readFileSync(join(root, 'src', path), 'utf8')]),
);
const parse = (text: string) => ts.createSourceFile('module.ts', text, ts.ScriptTarget.Latest, true);

/** Names that a binding declares, including those of a destructuring pattern. */
function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}

/** Names that a statement declares. */
function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  const { name } = statement as ts.DeclarationStatement;
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

/** Names that a module declares and exports; overloads count once, re-exports do not count. */
function exportedNames(text: string): Set<string> {
  const { statements } = parse(text);
  const isExported = (statement: ts.Statement) =>
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  const local = statements.flatMap((statement) =>
    ts.isExportDeclaration(statement) && statement.moduleSpecifier === undefined ? [statement.exportClause] : [],
  );
  const listed = local.flatMap((clause) =>
    clause !== undefined && ts.isNamedExports(clause)
      ? clause.elements.map(({ name, propertyName }) => ({ exported: name.text, own: (propertyName ?? name).text }))
      : [],
  );
  const all = new Set(statements.flatMap(declaredNames));
  return new Set([
    ...statements.filter(isExported).flatMap(declaredNames),
    ...listed.filter(({ own }) => all.has(own)).map(({ exported }) => exported),
  ]);
}

/** Exported names with two or more declaring modules. */
function sharedNames(of: Modules): string[] {
  const homes = new Map<string, string[]>();
  for (const [path, text] of Object.entries(of))
    for (const name of exportedNames(text)) homes.set(name, [...(homes.get(name) ?? []), path]);
  return [...homes].filter(([, each]) => each.length > 1).map(([name, each]) => `${name}: ${each.join(', ')}`);
}

const isFunctionType = (node: ts.Node | undefined): boolean =>
  node !== undefined && (ts.isFunctionTypeNode(node) || ts.isArrowFunction(node) || ts.isFunctionExpression(node));

/** Functions, methods and function members whose name starts with `demand`. */
function demandNames(of: Modules): string[] {
  const found: string[] = [];
  for (const [path, text] of Object.entries(of)) {
    if (!/\bdemand[A-Z]/.test(text)) continue;
    const visit = (node: ts.Node): void => {
      const { name, type, initializer } = node as { name?: ts.Node; type?: ts.Node; initializer?: ts.Node };
      const isFunction = ts.isFunctionLike(node) || isFunctionType(type) || isFunctionType(initializer);
      if (isFunction && name !== undefined && /^demand[A-Z]/.test(name.getText()))
        found.push(`${path} ${name.getText()}`);
      ts.forEachChild(node, visit);
    };
    visit(parse(text));
  }
  return found;
}

test('an exported name is declared in one module', () => {
  const planted = {
    'a.ts': 'export interface Store {}\nexport const { one, two: [three] } = x;\nexport const own = 1;',
    'b.ts': 'class Store {}\nexport { Store };\nexport function three() {}\nconst own = 2;',
    'c.ts':
      "export { Store } from './a.js';\nexport type { own } from './a.js';\nimport { one } from './a.js';\nexport { one };",
    'd.ts':
      'export function over(a: 1): 1;\nexport function over(a: 2): 2;\nexport function over(a: number) { return a; }',
  };
  assert.deepEqual(sharedNames(planted), ['Store: a.ts, b.ts', 'three: a.ts, b.ts']);
  assert.ok(exportedNames(modules['contract/operation.ts'] ?? '').has('Call'));
  assert.deepEqual(sharedNames(modules), []);
});

test('functions that throw unless a condition holds are called require, not demand', () => {
  const planted = {
    'a.ts': 'function demandA() {}\nconst demandB = () => 1;\nconst c = { demandC() {}, demandD: () => 1 };',
    'b.ts': 'interface E { demandE(): void; readonly demandF: () => void; readonly demandsG: string }',
    'c.ts': 'const demandH = 1;\nfunction demand() {}\nfunction requireI() {}',
  };
  assert.deepEqual(demandNames(planted), [
    'a.ts demandA',
    'a.ts demandB',
    'a.ts demandC',
    'a.ts demandD',
    'b.ts demandE',
    'b.ts demandF',
  ]);
  assert.deepEqual(demandNames(modules), []);
});
