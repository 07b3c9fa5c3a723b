import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './checkout.js';

/** A fenced block of a page. */
type Block = {
  language: string;
  /** The HTML comment right before it, which tells its test what to do; empty where there is none. */
  note: string;
  text: string;
};

/** The fenced blocks of a page, in order. */
export function readBlocks(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  const fence = /(?:^<!-- (.+) -->\n)?^```(\w+)\n([\s\S]*?)^```$/gm;
  return [...text.matchAll(fence)].map(([, note = '', language = '', inner = '']) => ({ language, note, text: inner }));
}

/** The block with this note. Throws where there is none. */
export function blockNoted(page: string, note: string): Block {
  const found = readBlocks(page).find((block) => block.note === note);
  if (found === undefined) throw new Error(`${page} has no block noted "${note}"`);
  return found;
}
