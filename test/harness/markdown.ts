import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './checkout.js';

/** The rows of the table of a page whose first column has this head, cell by cell. Throws where the page has no such table. */
export function readTable(page: string, firstColumn: string): string[][] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  const head = lines.findIndex((line) => cells(line)[0] === firstColumn);
  if (head < 0) throw new Error(`${page} has no table with the first column "${firstColumn}"`);
  const below = lines.slice(head + 2);
  const end = below.findIndex((line) => !line.startsWith('|'));
  return below.slice(0, end < 0 ? undefined : end).map(cells);
}

/** The rows of all tables of a page with this first column. */
export function readTables(page: string, firstColumn: string): string[][] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  let isInside = false;
  return lines.flatMap((line, at) => {
    if (cells(line)[0] === firstColumn) isInside = true;
    if (!line.startsWith('|')) isInside = false;
    const isHead = cells(line)[0] === firstColumn || cells(lines[at - 1] ?? '')[0] === firstColumn;
    return isInside && !isHead ? [cells(line)] : [];
  });
}

/** The lines of the fenced blocks between a heading of a page and the next heading. */
export function linesBelow(page: string, heading: string): string[] {
  const [, section = ''] = readFileSync(join(root, page), 'utf8').split(`\n${heading}\n`);
  const [own = ''] = section.split(/^#+ /m);
  return [...own.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']) => text.trim().split('\n'));
}

/** The text of a cell that is one piece of code. */
export function code(cell: string | undefined): string {
  return /^`([^`]+)`$/.exec(cell ?? '')?.[1] ?? `not code: ${cell}`;
}

/** The pieces of code in a cell, in order. */
export function codes(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
}

function cells(line: string): string[] {
  if (!line.startsWith('|')) return [];
  return line
    .slice(1)
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}
