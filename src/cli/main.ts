import { whyUnwritable } from '#src/platform/runtime/system-errors.js';
import { inWordsOf } from './line/api-words.js';
import type { Command, CommandCall, ParsedArgs } from './line/command.js';
import { refuseSecretsIn } from './line/input.js';
import { placeholdersOf } from './line/placeholders.js';
import { parse, tasks } from './line/program.js';
import { explain } from './terminal/exit.js';
import { Lines } from './terminal/lines.js';
import { createNameCommands, type NameCommands } from './terminal/named-commands.js';
import type { CommandResult } from './terminal/output.js';
import { createOutput, type Output } from './terminal/output.js';
import { createPrompts } from './terminal/prompts.js';

/** Runs a command line. Sets the exit code and never rejects. */
export async function main(argv: string[]): Promise<void> {
  // Files written by svc contain user data or keys.
  process.umask(0o077);
  endQuietly();
  const named = createNameCommands(argv, Object.values(tasks).flat());
  const unparsed = createOutput(outputFlags((flag) => argv.includes(flag), named));
  let output = unparsed;
  process.on('uncaughtException', (error) => {
    unparsed.failure(explain(error));
    process.exit(1);
  });
  let command = 'svc';
  let found: Parameters<typeof inWordsOf>[0] | undefined;
  try {
    refuseSecretsIn(argv);
    const commands = await commandsFor(argv);
    const parsed = await parse(argv, commands);
    if (parsed.kind === 'text') {
      process.stdout.write(parsed.text);
      return;
    }
    found = parsed;
    command = `svc ${parsed.command.path}`;
    output = createOutput(outputFlags(parsed.args.isSet, named));
    const result = await run(parsed.command, callOf(parsed.args, output, commands));
    if (result === undefined) return;
    output.result(result);
    process.exitCode = result.exitCode ?? 0;
  } catch (error) {
    const explanation =
      found === undefined ? explain(error, command) : explain(inWordsOf(found, error), command, placeholdersOf(found));
    output.failure(explanation);
    if (error instanceof Error && explanation.type === 'internal') output.detail(Lines.text(traceOf(error)));
    process.exitCode = explanation.exitCode;
  }
}

/** Loads only the needed command for `serve` and `ids`, because server start and shell completion must be fast. */
async function commandsFor([first]: readonly string[]): Promise<readonly Command[]> {
  if (first === 'serve') return [(await import('./commands/serve.js')).serveCommand];
  if (first === 'ids') return [(await import('./commands/ids.js')).idsCommand];
  const { commands } = await import('./commands/index.js');
  return commands;
}

/** Code that opens installations and databases is loaded on demand. */
async function run(command: Command, call: CommandCall): Promise<CommandResult | undefined> {
  if (command.needs === 'nothing') return command.run(call);
  const { runCommand } = await import('./installation/run-command.js');
  return runCommand(command, call);
}

function callOf(args: ParsedArgs, output: Output, commands: readonly Command[]): CommandCall {
  const possible = Boolean(process.stdin.isTTY && process.stderr.isTTY) && !output.json && !args.isSet('--no-input');
  if (!output.color) process.env.NO_COLOR = '1';
  return {
    args,
    output,
    prompts: createPrompts({ possible, yes: args.isSet('--yes') }),
    environment: process.env,
    configFile: args.text('--config'),
    commands,
  };
}

/** The options of the output. `has` reads the arguments directly for errors before the command line is parsed. */
function outputFlags(has: (flag: `--${string}`) => boolean, named: NameCommands) {
  return {
    named,
    json: has('--json'),
    quiet: has('--quiet'),
    verbose: has('--verbose'),
    color: !has('--no-color') && mayColor(),
  };
}

function mayColor(): boolean {
  return (process.env.NO_COLOR ?? '') === '' && process.env.TERM !== 'dumb';
}

/** The stack frames without the message, which may contain values. */
function traceOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/** Ends quietly if the reader closes the output early, like `head`. A full disk is an error. */
function endQuietly(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`error: The output cannot be written: ${whyUnwritable(error)}.\n`, () => process.exit(1));
  });
  process.stderr.on('error', () => {});
}
