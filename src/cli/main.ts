import type { Call, Command, Typed } from './command.js';
import { serveCommand } from './commands/serve.js';
import { explain } from './exit.js';
import { refuseSecretsIn } from './input.js';
import { runCommand } from './opening.js';
import { createOutput, type Output } from './output.js';
import { parse } from './program.js';
import { createPrompts } from './prompts.js';

/** Runs a command line. Sets the exit code and never rejects. */
export async function main(argv: string[]): Promise<void> {
  // Whatever svc writes holds somebody's data or keys.
  process.umask(0o077);
  endQuietly();
  process.on('uncaughtException', (error) => {
    createOutput(readOutputFlags(argv)).failure(explain(error));
    process.exit(1);
  });
  let output = createOutput(readOutputFlags(argv));
  try {
    refuseSecretsIn(argv);
    const commands = await commandsFor(argv);
    const parsed = await parse(argv, commands);
    if (parsed.kind === 'text') {
      process.stdout.write(parsed.text);
      return;
    }
    output = createOutput(outputFlags(parsed.typed));
    const answer = await runCommand(parsed.command, callOf(parsed.typed, output, commands));
    if (answer === undefined) return;
    output.answer(answer);
    process.exitCode = answer.exitCode ?? 0;
  } catch (error) {
    const explanation = explain(error);
    output.failure(explanation);
    if (error instanceof Error && explanation.type === 'internal') output.detail(traceOf(error));
    process.exitCode = explanation.exitCode;
  }
}

/** A server is to start quickly, so it does not load the other commands. */
async function commandsFor([first]: readonly string[]): Promise<readonly Command[]> {
  if (first === serveCommand.path) return [serveCommand];
  const { commands } = await import('./commands/index.js');
  return commands;
}

function callOf(typed: Typed, output: Output, roster: readonly Command[]): Call {
  const possible = Boolean(process.stdin.isTTY && process.stderr.isTTY) && !output.json && !typed.isSet('--no-input');
  if (!output.color) process.env.NO_COLOR = '1';
  return {
    typed,
    output,
    prompts: createPrompts({ possible, yes: typed.isSet('--yes') }),
    environment: process.env,
    configFile: typed.text('--config'),
    roster,
  };
}

function outputFlags(typed: Typed) {
  return {
    json: typed.isSet('--json'),
    quiet: typed.isSet('--quiet'),
    verbose: typed.isSet('--verbose'),
    color: !typed.isSet('--no-color') && mayColor(),
  };
}

/** For errors of the command line itself, before it could be read. */
function readOutputFlags(argv: readonly string[]) {
  const has = (flag: string) => argv.includes(flag);
  return {
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

/** Whoever reads our output may stop reading, as `head` does; that is no failure. */
function endQuietly(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  process.stderr.on('error', () => {});
}
