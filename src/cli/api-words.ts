import { Failure } from '#src/contract/errors.js';
import type { Command, ParsedArgs } from './command.js';
import { CommandError } from './exit.js';
import { gotten } from './input.js';

/** Parameters of the API whose flag has another name. */
const renamed: Readonly<Record<string, `--${string}`>> = {
  relatedCollectionId: '--related',
  twoWayKey: '--two-way',
  permissions: '--permission',
  maximumFileSize: '--max-size',
  allowedFileExtensions: '--extension',
  httpUser: '--auth-username',
  httpPass: '--auth-password-file',
  authUsername: '--auth-username',
  authPassword: '--auth-password-file',
  clientSecret: '--secret-file',
  certificates: '--cert-file',
  metadata: '--metadata-file',
  entityId: '--idp-entity-id',
};

/** A command line that was read. */
interface Parsed {
  readonly command: Command;
  readonly args: ParsedArgs;
}

/** An error of the API in the words of a command: its flags and arguments instead of parameters, and what it got. Any other error as it is. */
export function inWordsOf({ command, args }: Parsed, error: unknown): unknown {
  if (!(error instanceof Failure) || error.status !== 400) return error;
  const paths: string[] = [];
  const named = (name: string, problem: string) => `${name}${/^(must|is|has) /.test(problem) ? ' ' : ': '}`;
  const message = error.message
    .replace(/Invalid `([^`]+)` param: ?(?=(.*))/g, (_, path: string, problem: string) => {
      paths.push(path);
      return named(nameOf(command, path), problem);
    })
    .replace(/(?<=Invalid `[^`]+` setting: must be )true or false/g, 'on or off')
    .replace(/Invalid `([^`]+)` setting: ?(?=(.*))/g, (_, key: string, problem: string) => named(key, problem))
    .replace(/Param "([^"]+)" is not optional/g, (_, path: string) => `${nameOf(command, path)} is missing`);
  if (message === error.message) return error;
  const [, absent] = /^Param "([^"]+)" is not optional(?:\.|:.*)?$/.exec(error.message) ?? [];
  const [path, ...more] = paths;
  const value = path === undefined || more.length > 0 ? undefined : given({ command, args }, nameOf(command, path));
  const sentence = `${message.replace(/\.$/, '')}${value === undefined ? '' : gotten(value)}.`;
  return new CommandError('usage', error.type, sentence, absent === undefined ? '' : adding(command, absent));
}

/** What a flag or an argument got. */
function given({ command, args }: Parsed, name: string): string | undefined {
  const option = (command.options ?? []).find(({ flag }) => flag === name);
  if (option !== undefined) return args.text(option.flag);
  return (command.arguments ?? []).some((one) => one.name === name) ? args.optionalArgument(name) : undefined;
}

/** The flag or the argument that sets a parameter; its own name where none does. */
function nameOf({ options = [], arguments: positional = [] }: Command, path: string): string {
  const [parameter = path] = path.split('.');
  const kebab = parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const flags = [renamed[parameter], `--${kebab}`, ...(parameter.endsWith('Id') ? ['--id'] : [])];
  const flag = flags.find((one) => options.some((option) => option.flag === one));
  if (flag !== undefined) return flag;
  const names = [
    parameter.toUpperCase(),
    ...(parameter.endsWith('Id') ? [parameter.slice(0, -2).toUpperCase(), 'ID'] : []),
  ];
  return names.find((name) => positional.some((argument) => argument.name === name)) ?? parameter;
}

/** How to give what is missing; empty where no flag does. */
function adding(command: Command, path: string): string {
  const option = (command.options ?? []).find(({ flag }) => flag === nameOf(command, path));
  if (option === undefined) return '';
  return `add ${option.value === undefined ? option.flag : `${option.flag} ${option.value}`}`;
}
