import { styleText } from 'node:util';
import { printJson } from '#src/platform/json.js';
import type { Answer } from './answer.js';
import type { Explanation } from './exit.js';

/** How much and in which form is printed. */
interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
}

/** Data to stdout, everything else to stderr. */
export interface Output extends OutputOptions {
  /** Prints what a command gives. */
  answer(answer: Answer): void;
  /** Words on the way; not with `--json` or `--quiet`. */
  note(text: string): void;
  /** Words for `--verbose`. */
  detail(text: string): void;
  failure(explanation: Explanation): void;
}

/** Prints to the streams of the process. */
export function createOutput(options: OutputOptions): Output {
  const paint = (style: 'red' | 'dim', text: string) =>
    options.color && process.stderr.isTTY ? styleText(style, text) : text;
  const note = (text: string) => {
    if (!options.json && !options.quiet) process.stderr.write(`${text}\n`);
  };
  return {
    ...options,
    note,
    answer: ({ value, text, next }) => {
      if (options.json) process.stdout.write(`${printJson(value, 2)}\n`);
      else if (text !== '') process.stdout.write(`${text}\n`);
      if (next !== undefined) note(paint('dim', `next: ${next}`));
    },
    detail: (text) => {
      if (options.verbose) process.stderr.write(`${text}\n`);
    },
    failure: ({ type, message, fix }) => {
      if (options.json) process.stderr.write(`${JSON.stringify({ error: { type, message, fix } })}\n`);
      else process.stderr.write(`${paint('red', 'error:')} ${message}\n${paint('dim', `next: ${fix}`)}\n`);
    },
  };
}

/** Rows in columns, with a heading. */
export function columns(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names and values, one a line. */
export function pairs(entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd()).join('\n');
}
