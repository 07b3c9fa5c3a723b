import { CommanderError, Option, Command as Parser } from 'commander';
import { version } from '#src/platform/runtime/version.js';
import { usageError } from '../terminal/exit.js';
import { withAliases } from './aliases.js';
import { choiceOf, notAChoice } from './choices.js';
import type { Command, OptionSpec, ParsedArgs } from './command.js';
import { globalOptions } from './global-options.js';
import { surplusArgument, unknownVerb, usageErrorOf, withHelp, withTopic } from './usage-errors.js';

/** Descriptions of the command groups, by first word. */
const groups: Readonly<Record<string, string>> = {
  migrate: 'Migrates the database schema',
  project: 'Manages projects and their settings',
  platform: 'Manages the web pages and apps of a project',
  apikey: 'Manages the server keys of a project',
  provider: 'Manages the login providers of a project',
  user: 'Manages the users of a project',
  webhook: 'Manages the webhooks of a project and their deliveries',
  mail: 'Lists mails and SMS, previews and checks their templates, and sends a test mail',
  sms: 'Sends a test SMS',
  keys: 'Shows, rotates and revokes the keys that sign JWTs',
  team: 'Manages the teams of a project',
  database: 'Manages the databases of a project',
  collection: 'Manages collections with their attributes and indexes',
  document: 'Exports and imports the documents of a collection',
  bucket: 'Manages the buckets of a project',
  files: 'Moves and checks the stored files of the installation',
  events: 'Follows the events of a project',
  gen: 'Writes code for the collections of a project',
  graphql: 'Prints the GraphQL schema of a project',
  limits: 'Shows and resets the rate limits of a project',
  audit: 'Lists, follows, exports and verifies the audit log',
  import: 'Imports whole projects from other products',
  cron: 'Shows and runs the jobs of the installation',
  config: 'Shows, checks and changes the settings of the installation',
};

/** The headings of `svc --help` with the first words below each, in order. */
export const tasks: Readonly<Record<string, readonly string[]>> = {
  'Set up and run': ['init', 'serve', 'migrate', 'config', 'status', 'logs', 'backup', 'db', 'doctor', 'cron'],
  Projects: ['project', 'platform', 'apikey', 'keys', 'provider', 'limits'],
  Users: ['user', 'team'],
  Data: ['database', 'collection', 'document', 'permission', 'bucket', 'files', 'graphql', 'import', 'export'],
  'Events and messages': ['webhook', 'events', 'mail', 'sms'],
  Audit: ['audit'],
  'For programs': ['openapi', 'gen', 'commands', 'completion', 'ids', 'version', 'help'],
};

/** The heading in `svc --help` for commands with this first word. */
function taskOf(word: string): string {
  const [task = 'Other'] = Object.entries(tasks).find(([, words]) => words.includes(word)) ?? [];
  return `${task}:`;
}

/** The result of parsing: a command with its values, or text to print. */
type Parsed =
  | { readonly kind: 'command'; readonly command: Command; readonly args: ParsedArgs }
  | { readonly kind: 'text'; readonly text: string };

/** Parses a command line. Throws CommandError with exit 2 if it is invalid. */
export async function parse(given: readonly string[], commands: readonly Command[]): Promise<Parsed> {
  let found: Parsed | undefined;
  let printed = '';
  const write = (text: string) => {
    printed += text;
  };
  let argv = given;
  try {
    argv = withTopic(withAliases(given, commands), commands);
    const program = createParser(commands, argv, write, (command, args) => {
      found = { kind: 'command', command, args };
    });
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw withHelp(error, argv, commands);
    // `commander.help` is no mistake: a group without a verb, or `svc` alone, has printed its help.
    if (error.exitCode !== 0 && error.code !== 'commander.help') throw usageErrorOf(error, argv, commands);
  }
  return found ?? { kind: 'text', text: printed };
}

/** Commander's default width if stdout is not a terminal. */
const helpWidth = () => (process.stdout.isTTY ? process.stdout.columns : 80);

function createParser(
  commands: readonly Command[],
  argv: readonly string[],
  write: (text: string) => void,
  choose: (command: Command, args: ParsedArgs) => void,
): Parser {
  // Commander prints headings in the order of their first commands.
  const order = Object.values(tasks).flat();
  const place = ({ path }: Command) => order.indexOf(path.split(' ')[0] ?? '');
  const sorted = [...commands].sort((one, other) => place(one) - place(other));
  const program = new Parser('svc')
    .description('Runs and manages svc, a backend for applications: accounts, sessions, documents and signed webhooks.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 10 })
    .exitOverride()
    // Commander prints errors before it throws them. Only the thrown error is printed here.
    .configureOutput({
      writeOut: write,
      writeErr: write,
      outputError: () => {},
      getErrHelpWidth: helpWidth,
      getOutHelpWidth: helpWidth,
    })
    .usage('<command> [options]');
  program.addHelpText('after', examplesText(['svc init', 'svc serve']));
  for (const option of globalOptions) program.addOption(toOption(option));
  const parents = new Map<string, Parser>();
  for (const command of sorted) {
    const [first = '', second] = command.path.split(' ');
    let parent = program;
    if (second !== undefined) {
      parent = parents.get(first) ?? createGroup(program, first, commands).helpGroup(taskOf(first));
      parents.set(first, parent);
    }
    addCommand(parent, second ?? first, command, commands, argv, choose);
  }
  return program;
}

function createGroup(program: Parser, name: string, commands: readonly Command[]): Parser {
  const members = commands.filter(({ path }) => path.startsWith(`${name} `));
  const examples = members.slice(0, 2).map(({ examples: [first] }) => first);
  const byDefault = members.find(({ isDefault }) => isDefault);
  const group = program
    .command(name)
    .description(groups[name] ?? '')
    .helpCommand(false);
  if (byDefault !== undefined) {
    const flags = (byDefault.options ?? []).map(({ flag, value }) =>
      value === undefined ? flag : `${flag} <${value}>`,
    );
    group.addHelpText(
      'after',
      `\nWithout a subcommand this runs svc ${byDefault.path}, with its flags: ${flags.join(', ')}`,
    );
  }
  return group.addHelpText('after', examplesText(examples));
}

function addCommand(
  parent: Parser,
  name: string,
  command: Command,
  commands: readonly Command[],
  argv: readonly string[],
  choose: (command: Command, args: ParsedArgs) => void,
): void {
  const parser = parent
    .command(name, { isDefault: command.isDefault ?? false })
    // Only `svc --help` groups by task; the help of a group lists its verbs under `Commands:`.
    .helpGroup(command.path.includes(' ') ? 'Commands:' : taskOf(name))
    .description(command.summary)
    .addHelpText('after', examplesText(command.examples));
  for (const { name: label, summary, optional } of command.arguments ?? [])
    parser.argument(optional ? `[${label}]` : `<${label}>`, summary);
  for (const option of command.options ?? []) parser.addOption(toOption(option));
  // The message of commander does not name the surplus argument.
  parser.allowExcessArguments();
  parser.action(() => {
    const surplus = parser.args[command.arguments?.length ?? 0];
    // A mistyped verb reaches the default command as a surplus argument.
    if (surplus !== undefined)
      throw command.isDefault ? unknownVerb(surplus, command, commands) : surplusArgument(surplus, command, argv);
    const args = parsedArgs(command, parser);
    // Commander would check required flags before unknown ones, and so hide a mistyped flag.
    const missing = (command.options ?? []).find(
      ({ flag, required, assumed }) => required && !assumed && args.text(flag) === undefined,
    );
    if (missing !== undefined)
      throw usageError(`The flag ${missing.flag} is required.`, `svc ${command.path} --help shows examples`);
    choose(command, args);
  });
}

function toOption({ flag, short, value, summary, required, assumed, repeated, choices, group }: OptionSpec): Option {
  const name = short === undefined ? flag : `${short}, ${flag}`;
  const option = new Option(
    value === undefined ? name : `${name} <${value}>`,
    required && !assumed ? `${summary} (required)` : summary,
  );
  // Shown in the help; `read` below decides which words are accepted.
  if (choices !== undefined) option.choices(choices);
  const read = (word: string): string => {
    const choice = choices === undefined ? word : choiceOf(word, choices);
    if (choice === undefined) throw notAChoice(flag, word, choices ?? []);
    return choice;
  };
  if (repeated) option.argParser<string[]>((one, earlier) => [...(earlier ?? []), read(one)]);
  else if (choices !== undefined) option.argParser(read);
  if (group !== undefined) option.helpGroup(`${group}:`);
  return option;
}

/** The member of commander's values for a flag. */
function memberOf(flag: string): string {
  return flag.replace(/^--(no-)?/, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function parsedArgs(command: Command, parser: Parser): ParsedArgs {
  const values: Record<string, unknown> = parser.optsWithGlobals();
  const declared = [...globalOptions, ...(command.options ?? [])];
  const get = (flag: string): unknown => {
    if (!declared.some((option) => option.flag === flag)) throw new Error(`${command.path} does not declare ${flag}`);
    const name = memberOf(flag);
    return flag.startsWith('--no-') ? values[name] === false : values[name];
  };
  const text = (flag: string): string | undefined => {
    const value = get(flag);
    return typeof value === 'string' ? value : undefined;
  };
  const optionalArgument = (name: string): string | undefined => {
    const index = (command.arguments ?? []).findIndex((argument) => argument.name === name);
    if (index === -1) throw new Error(`${command.path} does not declare ${name}`);
    return parser.args[index];
  };
  return {
    argument: (name) => {
      const value = optionalArgument(name);
      if (value === undefined) throw new Error(`${command.path} does not take ${name}`);
      return value;
    },
    optionalArgument,
    text,
    required: (flag) => text(flag) ?? '',
    isSet: (flag) => get(flag) === true,
    isGiven: (flag) => get(flag) === true || text(flag) !== undefined,
    list: (flag) => {
      const value = get(flag);
      return Array.isArray(value) ? value.map(String) : [];
    },
    assume: (flag, value) => {
      values[memberOf(flag)] ??= value;
    },
  };
}

function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`;
}
