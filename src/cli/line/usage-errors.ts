import { similar } from '#src/contract/similar.js';
import { CommandError, shellWord, usageError } from '../terminal/exit.js';
import { insteadOf, verbsAfter, wordsAt } from './aliases.js';
import type { Command } from './command.js';
import { globalOptions } from './global-options.js';

/** Converts an error of commander to a usage error. Omits values: text after `=` or a short flag may be a secret. */
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
    return unknownCommand(word, path, help, commands);
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

/** Adds the help of the command as next step to an error without one. */
export function withHelp(error: unknown, argv: readonly string[], commands: readonly Command[]): unknown {
  if (!(error instanceof CommandError) || error.fix !== '') return error;
  return usageError(error.message, `svc ${pathIn(argv, commands)} --help shows its arguments and flags`);
}

/** The command or group at the beginning of a command line; empty if there is none. */
function pathIn(argv: readonly string[], commands: readonly Command[]): string {
  const words = wordsAt(argv).map((at) => argv[at] ?? '');
  const paths = commands.flatMap(({ path }) => [path, path.split(' ')[0] ?? '']);
  return [words.slice(0, 2).join(' '), words[0] ?? ''].find((path) => paths.includes(path)) ?? '';
}

/** Converts `svc help COMMAND` to `svc COMMAND --help`; other command lines are unchanged. Throws if there is no such command. */
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

/** Error for an unknown word after a group. */
export function unknownVerb(word: string, command: Command, commands: readonly Command[]): CommandError {
  const [group = ''] = command.path.split(' ');
  return unknownCommand(word, group, `svc ${group} --help`, commands, `svc ${group} `);
}

function unknownCommand(word: string, group: string, help: string, commands: readonly Command[], before = '') {
  const near = similar(word, verbsAfter(group, commands));
  const next = near === undefined ? help : `did you mean ${before}${near}?`;
  return usageError(`unknown command '${word}'`, insteadOf(group === '' ? word : `${group} ${word}`) ?? next);
}

/** Error for a word that the command does not take. Often it belongs to a text whose quotes are missing. */
export function surplusArgument(word: string, command: Command, argv: readonly string[]): CommandError {
  const at = argv.indexOf(word, command.path.split(' ').length);
  const flagAt = argv.findLastIndex((one, index) => index < at && one.startsWith('--'));
  const option = (command.options ?? []).find(({ flag, value }) => flag === argv[flagAt] && value !== undefined);
  const message = `'${word}' is one argument too many.`;
  const other = (command.options ?? []).find(({ flag }) => flag === '--and');
  if (option === undefined && other !== undefined && word.startsWith('SVC_')) {
    const isPair = other.value !== 'KEY';
    const [name = ''] = word.split('=');
    return usageError(message, `another setting follows --and: --and ${name}${isPair ? '=VALUE' : ''}`);
  }
  if (option === undefined) {
    const before = argv[at - 1] ?? '';
    const isText = (command.arguments ?? []).length > 0 && at > command.path.split(' ').length;
    const example = isText ? `: ${shellWord(`${before} ${word}`)}` : '';
    return usageError(message, `put a text of several words in quotes${example}`);
  }
  const end = argv.findIndex((one, index) => index > at && one.startsWith('-'));
  const text = argv.slice(flagAt + 1, end === -1 ? undefined : end).join(' ');
  return usageError(message, `put the text in quotes: ${option.flag} ${shellWord(text)}`);
}
