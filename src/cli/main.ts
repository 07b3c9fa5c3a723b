import { whyUnwritable } from '#src/platform/system-errors.js';
import { inWordsOf } from './api-words.js';
import type { Call, Command, ParsedArgs } from './command.js';
import type { CommandResult } from './command-result.js';
import { explain } from './exit.js';
import { refuseSecretsIn } from './input.js';
import { Lines } from './lines.js';
import { createNameCommands, type NameCommands } from './named-commands.js';
import { createOutput, type Output } from './output.js';
import { placeholdersOf } from './placeholders.js';
import { parse, tasks } from './program.js';
import { createPrompts } from './prompts.js';

/** Runs a command line. Sets the exit code and never rejects. */
export async function main(argv: string[]): Promise<void> {
  // Files that svc writes hold data of users or keys.
  process.umask(0o077);
  endQuietly();
  const named = createNameCommands(argv, Object.values(tasks).flat());
  let output = createOutput(readOutputFlags(argv, named));
  process.on('uncaughtException', (error) => {
    createOutput(readOutputFlags(argv, named)).failure(explain(error));
    process.exit(1);
  });
  let command = 'svc';
  let found: Parameters<typeof inWordsOf>[0] | undefined;
  let given: ReturnType<typeof placeholdersOf> = {};
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
    given = placeholdersOf(parsed);
    output = createOutput(outputFlags(parsed.args, named));
    const result = await run(parsed.command, callOf(parsed.args, output, commands));
    if (result === undefined) return;
    output.result(result);
    process.exitCode = result.exitCode ?? 0;
  } catch (error) {
    const explanation = explain(found === undefined ? error : inWordsOf(found, error), command, given);
    output.failure(explanation);
    if (error instanceof Error && explanation.type === 'internal') output.detail(Lines.text(traceOf(error)));
    process.exitCode = explanation.exitCode;
  }
}

/** A server is to start quickly and a completion to come quickly, so they do not load the other commands. */
async function commandsFor([first]: readonly string[]): Promise<readonly Command[]> {
  if (first === 'serve') return [(await import('./commands/serve.js')).serveCommand];
  if (first === 'ids') return [(await import('./commands/ids.js')).idsCommand];
  const { commands } = await import('./commands/index.js');
  return commands;
}

/** What opens installations and databases is loaded where a command needs it. */
async function run(command: Command, call: Call): Promise<CommandResult | undefined> {
  if (command.needs === 'nothing') return command.run(call);
  const { runCommand } = await import('./run-command.js');
  return runCommand(command, call);
}

function callOf(args: ParsedArgs, output: Output, commands: readonly Command[]): Call {
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

function outputFlags(args: ParsedArgs, named: NameCommands) {
  return {
    named,
    json: args.isSet('--json'),
    quiet: args.isSet('--quiet'),
    verbose: args.isSet('--verbose'),
    color: !args.isSet('--no-color') && mayColor(),
  };
}

/** For errors of the command line itself, before it could be read. */
function readOutputFlags(argv: readonly string[], named: NameCommands) {
  const has = (flag: string) => argv.includes(flag);
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

/** Where it happened, without the message, which may quote values. */
function traceOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/** A reader of the output may close it early, as `head` does; that is not an error. A full disk is one. */
function endQuietly(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`error: The output cannot be written: ${whyUnwritable(error)}.\n`, () => process.exit(1));
  });
  process.stderr.on('error', () => {});
}
