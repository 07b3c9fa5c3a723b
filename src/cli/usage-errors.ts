import { similar } from '#src/platform/config/load.js';
import type { Command } from './command.js';
import { CommandError, usageError } from './exit.js';
import { globalOptions } from './global-options.js';

/** An error of commander as a usage error, without values: text after `=` or a short flag may be a secret. */
export function usageErrorOf(
  { code, message }: { readonly code: string; readonly message: string },
  argv: readonly string[],
  commands: readonly Command[],
): CommandError {
  const path = pathIn(argv, commands);
  const help = ['svc', ...(path === '' ? [] : [path]), '--help'].join(' ');
  const [, long, short] = /'(?:(--[^=']*)|(-[^'-])).*/s.exec(message) ?? [];
  if (code === 'commander.unknownCommand') {
    const [, word = ''] = /'(.*)'/s.exec(message) ?? [];
    if (path === '' && ['backup', 'restore'].includes(word))
      return usageError(`unknown command '${word}'`, 'docs/operations.md, "Backup", says how it is done without one');
    const near = similar(word, verbsAfter(path, commands));
    return usageError(`unknown command '${word}'`, near === undefined ? help : `did you mean ${near}?`);
  }
  if (code === 'commander.unknownOption' && long !== undefined) {
    const own = commands.filter((command) => command.path === path).flatMap(({ options = [] }) => options);
    const flags: string[] = [...own, ...globalOptions].map(({ flag }) => flag);
    const near = flags.find((flag) => flag.startsWith(long)) ?? similar(long, flags);
    return usageError(`unknown option '${long}'`, near === undefined ? help : `did you mean ${near}?`);
  }
  if (code === 'commander.unknownOption') return usageError(`unknown option '${short}'`, `${help} lists the options`);
  return usageError(message.replace(/^error: /, ''), `${help} shows the arguments and examples`);
}

/** The same error; one without a next step leads to the help of the command that the words name. */
export function withHelp(error: unknown, argv: readonly string[], commands: readonly Command[]): unknown {
  if (!(error instanceof CommandError) || error.fix !== '') return error;
  return usageError(error.message, `svc ${pathIn(argv, commands)} --help shows its arguments and flags`);
}

/** Where the words of a command line stand that are neither flags nor the file of `--config`. */
function wordsAt(argv: readonly string[]): number[] {
  return [...argv.keys()].filter((at) => !argv[at]?.startsWith('-') && argv[at - 1] !== '--config');
}

/** The command, or the group, that the words of a command line begin with; empty where they begin with neither. */
function pathIn(argv: readonly string[], commands: readonly Command[]): string {
  const words = wordsAt(argv).map((at) => argv[at] ?? '');
  const paths = commands.flatMap(({ path }) => [path, path.split(' ')[0] ?? '']);
  return [words.slice(0, 2).join(' '), words[0] ?? ''].find((path) => paths.includes(path)) ?? '';
}

/** The words that may follow a group, or `svc` itself. */
function verbsAfter(group: string, commands: readonly Command[]): string[] {
  if (group === '') return commands.map(({ path }) => path.split(' ')[0] ?? '');
  return commands.filter(({ path }) => path.startsWith(`${group} `)).map(({ path }) => path.slice(group.length + 1));
}

/** `svc help COMMAND` as `svc COMMAND --help`, any other command line as it is. Throws where there is no such command. */
export function withTopic(argv: readonly string[], commands: readonly Command[]): readonly string[] {
  const at = wordsAt(argv);
  if (argv[at[0] ?? -1] !== 'help') return argv;
  const [group, verb] = at.slice(1, 3).map((index) => argv[index] ?? '');
  if (group === undefined || group === 'help') return argv;
  const verbs = verbsAfter(group, commands);
  const isKnown = verbsAfter('', commands).includes(group);
  const [word, near] = isKnown ? [verb, similar(verb ?? '', verbs)] : [group, similar(group, verbsAfter('', commands))];
  if (isKnown && (verb === undefined || verbs.includes(verb)))
    return [group, ...(verb === undefined ? [] : [verb]), '--help'];
  const path = isKnown ? `svc help ${group}` : 'svc help';
  throw usageError(`unknown command '${word}'`, near === undefined ? path : `did you mean ${path} ${near}?`);
}

/** A word after a group that no command of it has. */
export function unknownVerb(word: string, command: Command, commands: readonly Command[]): CommandError {
  const [group = ''] = command.path.split(' ');
  const near = similar(word, verbsAfter(group, commands));
  return usageError(
    `unknown command '${word}'`,
    near === undefined ? `svc ${group} --help` : `did you mean svc ${group} ${near}?`,
  );
}
