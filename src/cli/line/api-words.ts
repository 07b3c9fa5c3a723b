import { Failure } from '#src/contract/errors.js';
import { printProblems, type RequestProblem } from '#src/contract/request-problems.js';
import { CommandError } from '../terminal/exit.js';
import type { Command, ParsedArgs } from './command.js';
import { gotten } from './input.js';

/** API parameters whose flag has a different name. */
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

/** A parsed command line. */
interface Parsed {
  readonly command: Command;
  readonly args: ParsedArgs;
}

/** Prints the problems of a request with flags and arguments instead of parameters, and the value given. Other errors are returned unchanged. */
export function inWordsOf({ command, args }: Parsed, error: unknown): unknown {
  if (!(error instanceof Failure) || error.problems.every(({ kind }) => kind === 'request')) return error;
  const { problems, type } = error;
  const message = printProblems(problems, (problem) => inCommandWords(command, problem));
  const [param, ...others] = problems.filter(({ kind }) => kind === 'param');
  const isOne = param?.kind === 'param' && others.length === 0;
  const value = isOne ? given({ command, args }, nameOf(command, param.name)) : undefined;
  const sentence = `${message.endsWith('.') ? message.slice(0, -1) : message}${value === undefined ? '' : gotten(value)}.`;
  const [first] = problems;
  const fix = first?.kind === 'absent' && problems.length === 1 ? adding(command, first.name) : '';
  return new CommandError('usage', type, sentence, fix);
}

function inCommandWords(command: Command, problem: RequestProblem): string {
  switch (problem.kind) {
    case 'request':
      return problem.sentence;
    case 'absent': {
      const { name, reason } = problem;
      return `${nameOf(command, name)} is missing${reason === undefined ? '.' : `: ${reason}`}`;
    }
    case 'setting':
      return named(problem.name, problem.problem === 'must be true or false' ? 'must be on or off' : problem.problem);
    case 'param':
      return named(nameOf(command, problem.name), problem.problem);
  }
}

/** Puts a name before a predicate or a sentence. */
function named(name: string, problem: string): string {
  return `${name}${/^(must|is|has) /.test(problem) ? ' ' : ': '}${problem}`;
}

/** The value given for a flag or an argument. */
function given({ command, args }: Parsed, name: string): string | undefined {
  const option = (command.options ?? []).find(({ flag }) => flag === name);
  if (option !== undefined) return args.text(option.flag);
  return (command.arguments ?? []).some((one) => one.name === name) ? args.optionalArgument(name) : undefined;
}

/** The flag or argument that sets a parameter; the parameter's own name if there is none. */
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

/** Suggests a flag for a missing value; empty if no flag sets it. */
function adding(command: Command, path: string): string {
  const option = (command.options ?? []).find(({ flag }) => flag === nameOf(command, path));
  if (option === undefined) return '';
  return `add ${option.value === undefined ? option.flag : `${option.flag} ${option.value}`}`;
}
