// The pages of docs/: each says whom it is for, and no link of any page leads nowhere.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { root } from '../harness/checkout.js';

const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const decisions = readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`);
const pages = ['README.md', 'src/README.md', ...docs.map((name) => `docs/${name}`), ...decisions];
const read = (page: string) => readFileSync(join(root, page), 'utf8');
/** The text of a page without its blocks, where brackets are code. */
const prose = (page: string) => read(page).replace(/^```[\s\S]*?^```$/gm, '');

/** The anchors of a page, as GitHub and most programs derive them from headings. */
function anchorsOf(page: string): string[] {
  return [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

for (const page of pages) {
  test(`the links of ${page} lead somewhere`, () => {
    const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    for (const link of links.filter((target) => !/^https?:/.test(target))) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      assert.ok(existsSync(join(root, target)), link);
      if (anchor !== undefined) assert.ok(anchorsOf(target).includes(anchor), link);
    }
    for (const link of links.filter((target) => /^https?:/.test(target))) assert.ok(URL.canParse(link), link);
  });
}

test('every page can be reached from the README', () => {
  const reached = new Set(['README.md']);
  for (const page of reached)
    for (const [, path = ''] of prose(page).matchAll(/\]\(([^)#\s]+\.md)/g)) {
      const target = normalize(join(dirname(page), path));
      if (!path.includes(':') && existsSync(join(root, target))) reached.add(target);
    }
  assert.deepEqual(
    pages.filter((page) => !reached.has(page)),
    [],
  );
});

test('each page begins with its audience', () => {
  for (const name of docs.filter((one) => !['CHANGELOG.md', 'CONTRIBUTING.md'].includes(one)))
    assert.match(read(`docs/${name}`), /^# .+\n\nFor [^:\n]+[:.] \S/, name);
});

test('a drawing has a title, and both colour schemes', () => {
  for (const name of readdirSync(join(root, 'docs')).filter((one) => one.endsWith('.svg'))) {
    assert.match(read(`docs/${name}`), /<title id="title">.{20,}<\/title>/, name);
    assert.match(read(`docs/${name}`), /prefers-color-scheme: dark/, name);
  }
});

for (const page of pages) {
  test(`${page} says nothing twice`, () => {
    const lines = prose(page).split('\n');
    const repeated = (all: readonly string[]) => all.filter((line, at) => all.indexOf(line) !== at);
    assert.deepEqual(repeated(lines.filter((line) => /^#+ /.test(line))), [], 'headings');
    // The heads of tables, and the lines below them, may be equal.
    const rows = lines.filter((line, at) => line.length > 40 && !/^\|[-|: ]+\|$/.test(lines[at + 1] ?? ''));
    assert.deepEqual(repeated(rows), [], 'lines');
  });
}
