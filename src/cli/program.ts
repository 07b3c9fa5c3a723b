import { CommanderError, Option, Command as Parser } from 'commander';
import { nearest } from '#src/platform/config/load.js';
import type { Command, OptionSpec, Typed } from './command.js';
import { type CommandError, usageError } from './exit.js';
import { version } from './version.js';

/** Flags that every command takes. */
export const globalOptions: readonly OptionSpec[] = [
  {
    flag: '--config',
    value: 'FILE',
    summary: 'configuration file (default: $SVC_CONFIG, ./svc.env, /etc/svc/svc.env)',
  },
  { flag: '--json', summary: 'one JSON value on stdout; errors as JSON on stderr' },
  { flag: '--quiet', summary: 'less on stderr' },
  { flag: '--verbose', summary: 'more on stderr' },
  { flag: '--no-color', summary: 'plain text; also NO_COLOR, TERM=dumb, or no terminal' },
  { flag: '--no-input', summary: 'never ask; also without a terminal and with --json' },
  { flag: '--yes', summary: 'answer y to moderate questions' },
];

/** What a command line asks for: a command with its values, or text that answers it already. */
export type Parsed =
  | { readonly kind: 'command'; readonly command: Command; readonly typed: Typed }
  | { readonly kind: 'text'; readonly text: string };

/** Reads a command line. Throws CommandError with exit 2 where it is wrong. */
export async function parse(argv: readonly string[], commands: readonly Command[]): Promise<Parsed> {
  let found: Parsed | undefined;
  let printed = '';
  const program = createParser(commands, (command, typed) => {
    found = { kind: 'command', command, typed };
  });
  program.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    // Commander writes errors before it throws them; they are printed from what it throws.
    writeErr: () => {},
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw translate(error);
  }
  return found ?? { kind: 'text', text: printed };
}

function createParser(commands: readonly Command[], choose: (command: Command, typed: Typed) => void): Parser {
  const program = new Parser('svc')
    .description('Runs and manages svc: accounts, sessions, documents, files and signed webhooks for applications.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .usage('<command> [options]');
  program.addHelpText('after', examplesText(['svc init', 'svc serve']));
  for (const option of globalOptions) program.addOption(toOption(option));
  const groups = new Map<string, Parser>();
  for (const command of commands) {
    const [first = '', second] = command.path.split(' ');
    let parent = program;
    if (second !== undefined) {
      parent = groups.get(first) ?? createGroup(program, first, commands);
      groups.set(first, parent);
    }
    addCommand(parent, second ?? first, command, commands, choose);
  }
  return program;
}

function createGroup(program: Parser, name: string, commands: readonly Command[]): Parser {
  const members = commands.filter(({ path }) => path.startsWith(`${name} `));
  const examples = members.slice(0, 2).map(({ examples: [first] }) => first);
  return program
    .command(name)
    .description(members.map(({ summary }) => summary.split(/[:;,(]/)[0]?.trim()).join('; '))
    .addHelpText('after', examplesText(examples));
}

function addCommand(
  parent: Parser,
  name: string,
  command: Command,
  commands: readonly Command[],
  choose: (command: Command, typed: Typed) => void,
): void {
  const parser = parent
    .command(name, { isDefault: command.isDefault ?? false })
    .description(command.summary)
    .addHelpText('after', examplesText(command.examples));
  for (const { name: label, summary } of command.arguments ?? []) parser.argument(`<${label}>`, summary);
  for (const option of command.options ?? []) parser.addOption(toOption(option));
  // A mistyped verb reaches the default command as a surplus word.
  if (command.isDefault) parser.allowExcessArguments();
  parser.action(() => {
    const surplus = parser.args[command.arguments?.length ?? 0];
    if (surplus !== undefined) throw unknownVerb(surplus, command, commands);
    choose(command, typedOf(command, parser));
  });
}

function unknownVerb(word: string, command: Command, commands: readonly Command[]): CommandError {
  const [group = ''] = command.path.split(' ');
  const verbs = commands.filter(({ path }) => path.startsWith(`${group} `)).map(({ path }) => path.split(' ')[1] ?? '');
  return usageError(`unknown command '${word}'`, `did you mean svc ${group} ${nearest(word, verbs)}?`);
}

function toOption({ flag, value, summary, required, repeated, choices, group }: OptionSpec): Option {
  const option = new Option(value === undefined ? flag : `${flag} <${value}>`, summary);
  if (required) option.makeOptionMandatory();
  if (choices !== undefined) option.choices(choices);
  if (repeated) option.argParser<string[]>((one, earlier) => [...(earlier ?? []), one]);
  if (group !== undefined) option.helpGroup(`${group}:`);
  return option;
}

function typedOf(command: Command, parser: Parser): Typed {
  const values: Record<string, unknown> = parser.optsWithGlobals();
  const declared = [...globalOptions, ...(command.options ?? [])];
  const get = (flag: string): unknown => {
    if (!declared.some((option) => option.flag === flag)) throw new Error(`${command.path} does not declare ${flag}`);
    const name = flag.replace(/^--(no-)?/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return flag.startsWith('--no-') ? values[name] === false : values[name];
  };
  const text = (flag: string): string | undefined => {
    const value = get(flag);
    return typeof value === 'string' ? value : undefined;
  };
  return {
    argument: (name) => {
      const index = (command.arguments ?? []).findIndex((argument) => argument.name === name);
      const value = parser.args[index];
      if (value === undefined) throw new Error(`${command.path} does not declare ${name}`);
      return value;
    },
    text,
    required: (flag) => text(flag) ?? '',
    isSet: (flag) => get(flag) === true,
    list: (flag) => {
      const value = get(flag);
      return Array.isArray(value) ? value.map(String) : [];
    },
  };
}

function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`;
}

/** Commander's words without values: what follows `=` or a short flag may be a secret. */
function translate(error: CommanderError): CommandError {
  if (error.code === 'commander.help') return usageError('a command is missing', 'svc --help lists them');
  const [, hint] = /\(Did you mean (?:one of )?(.+?)\?\)/.exec(error.message) ?? [];
  const [, long, short] = /^error: unknown option '(?:(--[^=']*)|(-[^-'])).*/s.exec(error.message) ?? [];
  const message =
    long === undefined && short === undefined
      ? error.message.replace(/^error: /, '').replace(/\n\(Did you mean .*$/s, '')
      : `unknown option '${long ?? short}'`;
  return usageError(message, hint === undefined ? 'svc --help' : `did you mean ${hint}?`);
}
