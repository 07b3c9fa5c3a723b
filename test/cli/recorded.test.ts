// The words of the command line, which scripts and people rely on: the help of every command, and its flags in `svc commands --json`. They
// are stored in `recorded/`, so that a change of any of them is seen in a review.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commands } from '#src/cli/commands/index.js';
import type { Command } from '#src/cli/line/command.js';
import { parse } from '#src/cli/line/program.js';
import { root } from '../harness/checkout.js';

const folder = join(root, 'test/cli/recorded');
const updating = 'SVC_TEST_RECORD=1 node --import tsx test/run.ts sqlite test/cli/recorded';

/** Help without the global options, which are the same for each command. */
async function helpOf(words: readonly string[]): Promise<string> {
  const help = await parse([...words, '--help'], commands);
  assert.ok(help.kind === 'text');
  const text = words.length === 0 ? help.text : help.text.replace(/Global Options:\n[\s\S]*?\n\n/, '');
  return `$ ${['svc', ...words, '--help'].join(' ')}\n${text.trimEnd()}\n`;
}

/** The flags and arguments of a command in `svc commands --json`, one per line, without the summaries, which the help shows. */
function jsonOf({ options = [], arguments: positional = [] }: Command): string {
  return [...positional, ...options].map(({ summary: _, ...facts }) => `${JSON.stringify(facts)}\n`).join('');
}

/** The recorded text of each group of commands; commands of one word are in `svc`. */
async function recordedTexts(): Promise<Map<string, string>> {
  const texts = new Map([['svc', await helpOf([])]]);
  for (const command of commands) {
    const words = command.path.split(' ');
    const group = words.length === 1 ? 'svc' : (words[0] ?? '');
    const before = texts.get(group) ?? (await helpOf([group]));
    texts.set(group, `${before}\n${await helpOf(words)}${jsonOf(command)}`);
  }
  return texts;
}

test('help and flags of all commands are the recorded ones', async () => {
  const texts = await recordedTexts();
  if (process.env.SVC_TEST_RECORD === '1') {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [group, text] of texts) writeFileSync(join(folder, `${group}.txt`), text);
  }
  const wrong = `if this change is meant, record it: ${updating}`;
  assert.deepEqual(readdirSync(folder).sort(), [...texts.keys()].map((group) => `${group}.txt`).sort(), wrong);
  for (const [group, text] of texts) {
    const recorded = readFileSync(join(folder, `${group}.txt`), 'utf8');
    if (recorded !== text) assert.fail(`${wrong}\n${firstDifference(group, recorded, text)}`);
  }
});

/** The first line that differs, in both texts. */
function firstDifference(group: string, recorded: string, text: string): string {
  const [before, now] = [recorded.split('\n'), text.split('\n')];
  const at = now.findIndex((line, index) => line !== before[index]);
  return `${group}.txt:${at + 1}\n- ${before[at] ?? ''}\n+ ${now[at] ?? ''}`;
}
