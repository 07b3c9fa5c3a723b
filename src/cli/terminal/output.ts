import { once } from 'node:events';
import { styleText } from 'node:util';
import { visible, visibleJson } from '#src/contract/visible.js';
import { systemClock } from '#src/platform/runtime/clock.js';
import { printJson } from '#src/platform/text/json.js';
import type { Explanation } from './exit.js';
import type { Color, Lines } from './lines.js';
import type { NameCommands } from './named-commands.js';
import { wrapWords } from './text-width.js';

/** The result of a command: a value for `--json`, and its text. */
export interface CommandResult {
  readonly value: unknown;
  /** A plain string is a single line: line breaks in it come from a value and are escaped. */
  readonly text: string | Lines;
  /** Suggested next command, printed on stderr. */
  readonly next?: string;
  /** Defaults to 0. */
  readonly exitCode?: number;
}

/** Amount and format of the output. */
interface OutputOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  /** Adds the selected installation to the commands in a text. Next steps and fixes get it automatically. */
  readonly named: NameCommands;
}

/** Prints data to stdout and everything else to stderr. Escapes control characters in all values, also in JSON. */
export interface Output extends OutputOptions {
  /** Prints the result of a command. */
  result(result: CommandResult): void;
  /** Prints one entry of a continuous result, as a line of JSON or text. Waits if the reader is slower. */
  entry(entry: Pick<CommandResult, 'value' | 'text'>): Promise<void>;
  /** Prints a note on stderr; not with `--json` or `--quiet`. */
  note(text: string | Lines): void;
  /** Prints a note on stderr, only with `--verbose`. */
  detail(text: string | Lines): void;
  failure(explanation: Explanation): void;
}

/** Creates the output on the streams of the process. */
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

/** Writes to stdout. Waits if the reader is slower. */
export async function writeOut(text: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Wraps a text between words at the width of the terminal. */
function wrapped(text: string, { isTTY, columns }: NodeJS.WriteStream): string {
  return isTTY && columns ? wrapWords(text, columns) : text;
}

/** Formats the next step. A command stays on one line, so that it can be copied. */
function nextStep(text: string): string {
  const line = visible(`next: ${text}`);
  return /^(svc|sudo) /.test(text) ? line : wrapped(line, process.stderr);
}
