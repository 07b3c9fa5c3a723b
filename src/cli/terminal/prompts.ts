import { visible } from '#src/contract/visible.js';
import { bind } from '#src/platform/runtime/bind.js';
import { CommandError, notAllowedError, usageError } from './exit.js';
import { wrapWords } from './text-width.js';

type Problem = (answer: string) => string | undefined | Promise<string | undefined>;

/** A question for a line of text. */
interface Question {
  readonly message: string;
  readonly initial?: string;
  /** Validates an answer: returns the problem, or undefined. */
  readonly problem?: Problem;
}

/** Asks the operator on stderr before any change. Each question can be answered in advance by a flag. Ctrl-C and Ctrl-D end the command. */
export interface Prompts {
  /** True if there is a terminal for questions. */
  readonly possible: boolean;
  ask(question: Question): Promise<string>;
  /** Asks without echo. */
  askSecret(message: string, flag: string): Promise<string>;
  /** Asks for a new secret without echo. Repeats until it is valid and typed twice in the same way. */
  askNewSecret(message: string, flag: string, problem: Problem): Promise<string>;
  /** Asks for confirmation: `y`, or `--yes` in advance. Throws if refused. */
  confirm(message: string): Promise<void>;
  /** Asks for strong confirmation: one of the names typed in full, or `--confirm NAME` in advance. Throws if refused. */
  confirmByName(message: string, names: readonly string[], typed: string | undefined): Promise<void>;
}

/** Options that control questions. */
interface PromptOptions {
  readonly possible: boolean;
  /** Set by `--yes`. */
  readonly yes: boolean;
}

type Validate = (answer: string) => Promise<true | string>;
type InquirerQuestion =
  | { type: 'input'; message: string; default?: string; validate?: Validate }
  | { type: 'password'; message: string; mask: boolean; toggleMask: boolean; validate?: Validate }
  | { type: 'confirm'; message: string; default: boolean };

/** Asks questions through inquirer, which is loaded for the first question. */
export function createPrompts(options: PromptOptions): Prompts {
  return { possible: options.possible, ask, ...bind(options, { askSecret, askNewSecret, confirm, confirmByName }) };
}

async function ask({ message, initial, problem }: Question): Promise<string> {
  const validate: Validate = async (answer) => (await problem?.(answer)) ?? true;
  return String(
    await put({ type: 'input', message, ...(initial === undefined ? {} : { default: initial }), validate }),
  );
}

async function put(question: InquirerQuestion): Promise<unknown> {
  const { default: inquirer } = await import('inquirer');
  const endOfInput = new AbortController();
  const prompt = inquirer.createPromptModule({ output: process.stderr, signal: endOfInput.signal });
  // After Ctrl-D, inquirer would wait forever.
  const end = () => endOfInput.abort();
  const onKey = (_: unknown, { ctrl, name }: { readonly ctrl?: boolean; readonly name?: string }) => {
    if (ctrl && name === 'd') end();
  };
  process.stdin.on('keypress', onKey).once('end', end);
  try {
    const message = wrapped(visible(question.message), question.type === 'confirm' ? ' (y/N)' : '');
    const answers: Record<string, unknown> = await prompt([{ ...question, message, name: 'it' }]);
    return answers.it;
  } catch (error) {
    if (error instanceof Error && ['ExitPromptError', 'AbortPromptError'].includes(error.name)) {
      throw new CommandError('interrupted', 'interrupted', 'Interrupted; nothing was changed.', 'run it again');
    }
    throw error;
  } finally {
    process.stdin.off('keypress', onKey).off('end', end);
  }
}

async function askSecret({ possible }: PromptOptions, message: string, flag: string): Promise<string> {
  if (!possible) throw usageError(`${message} is missing.`, `give it with ${flag}`);
  return putSecret(message);
}

async function putSecret(message: string, validate?: Validate): Promise<string> {
  return String(
    await put({ type: 'password', message, mask: false, toggleMask: false, ...(validate && { validate }) }),
  );
}

async function askNewSecret({ possible }: PromptOptions, message: string, flag: string, problem: Problem) {
  if (!possible) throw usageError(`${message} is missing.`, `give it with ${flag}`);
  for (;;) {
    const typed = await putSecret(message, async (answer) => (await problem(answer)) ?? true);
    if ((await putSecret(`${message}, once more`)) === typed) return typed;
    process.stderr.write('The two are not the same.\n');
  }
}

async function confirm({ possible, yes }: PromptOptions, message: string): Promise<void> {
  if (yes) return;
  if (!possible) throw refused(`${message} There is no terminal to confirm it.`, 'repeat it with --yes');
  if ((await put({ type: 'confirm', message, default: false })) !== true)
    throw refused('Not confirmed; nothing was changed.', 'repeat the command and answer y');
}

async function confirmByName(
  { possible }: PromptOptions,
  message: string,
  names: readonly string[],
  typed: string | undefined,
): Promise<void> {
  const [name = ''] = names;
  const again = `repeat the command with --confirm ${name}`;
  if (typed !== undefined) {
    if (names.includes(typed)) return;
    throw refused(`The value of --confirm is wrong: it must be ${[...new Set(names)].join(' or ')}.`, again);
  }
  if (!possible) throw refused(`${message} There is no terminal to confirm it.`, again);
  const answer = await put({ type: 'input', message: `${message} Type ${name} to confirm:` });
  if (!names.includes(String(answer))) throw refused('Not confirmed; nothing was changed.', again);
}

/**
 * Wraps between words, because inquirer breaks lines anywhere. Leaves space for inquirer's two-column prefix and for the hint after the
 * last line.
 */
function wrapped(message: string, hint: string): string {
  const { columns } = process.stderr;
  if (!columns) return message;
  const text = wrapWords(message + hint, columns - 3);
  return hint === '' ? text : text.slice(0, 1 - hint.length).replace(/ $/, '');
}

function refused(message: string, fix: string): CommandError {
  return notAllowedError('confirmation_refused', message, fix);
}
