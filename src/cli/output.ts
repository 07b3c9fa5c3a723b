import { styleText } from 'node:util';
import { visible, visibleJson } from '#src/contract/visible.js';
import { systemClock } from '#src/platform/clock.js';
import { printJson } from '#src/platform/json.js';
import type { CommandResult } from './command-result.js';
import type { Explanation } from './exit.js';
import type { Color, Lines } from './lines.js';
import type { NameCommands } from './named-commands.js';
import { writeOut } from './stream.js';
import { wrapWords } from './text-width.js';

/** How much and in which form is printed. */
interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  /** For commands that are there to be pasted: every next step has it already. */
  readonly named: NameCommands;
}

/** Data to stdout, everything else to stderr. Control characters of any value are written out, in JSON too. */
export interface Output extends OutputOptions {
  /** Prints the result of a command. */
  result(result: CommandResult): void;
  /** Prints one entry of a result that goes on: a line of JSON or of text. Waits where its reader is slower. */
  entry(entry: Pick<CommandResult, 'value' | 'text'>): Promise<void>;
  /** Prints a note on stderr; not with `--json` or `--quiet`. */
  note(text: string | Lines): void;
  /** Prints a note on stderr with `--verbose` only. */
  detail(text: string | Lines): void;
  failure(explanation: Explanation): void;
}

/** Prints to the streams of the process. */
export function createOutput(options: OutputOptions): Output {
  const paintOn = (stream: NodeJS.WriteStream) => (style: Color | 'dim', text: string) =>
    options.color && stream.isTTY ? styleText(style, text, { validateStream: false }) : text;
  const paint = paintOn(process.stderr);
  const print = (text: string | Lines, stream: NodeJS.WriteStream = process.stdout) =>
    typeof text === 'string'
      ? wrapped(visible(text), stream)
      : text.in({
          width: stream.isTTY ? stream.columns || undefined : undefined,
          now: systemClock.now(),
          paint: paintOn(stream),
        });
  const hint = (text: string) => {
    if (!options.json && !options.quiet) process.stderr.write(`${paint('dim', nextStep(options.named(text)))}\n`);
  };
  return {
    ...options,
    note: (text) => {
      if (!options.json && !options.quiet)
        process.stderr.write(`${print(typeof text === 'string' ? options.named(text) : text, process.stderr)}\n`);
    },
    result: ({ value, text, next }) => {
      if (options.json) process.stdout.write(`${visibleJson(printJson(value, 2))}\n`);
      else if (text !== '') process.stdout.write(`${print(text)}\n`);
      if (next !== undefined) hint(next);
    },
    entry: ({ value, text }) => writeOut(`${options.json ? visibleJson(printJson(value)) : print(text)}\n`),
    detail: (text) => {
      if (options.verbose) process.stderr.write(`${print(text, process.stderr)}\n`);
    },
    failure: ({ type, message, lines, fix: step }) => {
      const fix = options.named(step);
      if (options.json) {
        process.stderr.write(`${visibleJson(JSON.stringify({ error: { type, message, fix } }))}\n`);
        return;
      }
      const [first = '', ...others] = lines ?? [message];
      const shown = [`error: ${first}`, ...others].map((line) => wrapped(visible(line), process.stderr)).join('\n');
      const [mark, rest] = ['error:', shown.slice('error:'.length)];
      process.stderr.write(`${paint('red', mark)}${rest}\n${paint('dim', nextStep(fix))}\n`);
    },
  };
}

/** A line that breaks between words where the terminal ends. */
function wrapped(text: string, { isTTY, columns }: NodeJS.WriteStream): string {
  return isTTY && columns ? wrapWords(text, columns) : text;
}

/** What to do next. A command stays one line: it is there to be pasted. */
function nextStep(text: string): string {
  const line = visible(`next: ${text}`);
  return /^(svc|sudo) /.test(text) ? line : wrapped(line, process.stderr);
}
