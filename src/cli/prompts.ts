import { visible } from '#src/contract/visible.js';
import { CommandError, usageError } from './exit.js';
import { wrapWords } from './text-width.js';

/** A question for a line of text. */
interface Question {
  readonly message: string;
  readonly initial?: string;
  /** What is wrong with an answer; undefined where nothing is. */
  readonly problem?: (answer: string) => string | undefined | Promise<string | undefined>;
}

/** Questions to the operator, on stderr, before anything is changed. Each has a flag that answers it beforehand. Ctrl-C and Ctrl-D end the command. */
export interface Prompts {
  /** Whether there is a terminal to ask on. */
  readonly possible: boolean;
  ask(question: Question): Promise<string>;
  /** Asks without echo. */
  askSecret(message: string, flag: string): Promise<string>;
  /** Asks for a new secret without echo, and again until the same is typed twice and nothing is wrong with it. */
  askNewSecret(message: string, flag: string, problem: NonNullable<Question['problem']>): Promise<string>;
  /** A moderate question: `y`, or `--yes` beforehand. Throws where it is refused. */
  confirm(message: string): Promise<void>;
  /** A severe question: one of the names typed in full, or `--confirm NAME` beforehand. Throws where it is refused. */
  confirmByName(message: string, names: readonly string[], typed: string | undefined): Promise<void>;
}

/** What decides whether and how questions are asked. */
interface PromptOptions {
  readonly possible: boolean;
  /** `--yes`. */
  readonly yes: boolean;
}

type Validate = (answer: string) => Promise<true | string>;
type InquirerQuestion =
  | { type: 'input'; message: string; default?: string; validate?: Validate }
  | { type: 'password'; message: string; mask: boolean; toggleMask: boolean; validate?: Validate }
  | { type: 'confirm'; message: string; default: boolean };

/** Asks through inquirer, which is loaded for the first question only. */
export function createPrompts({ possible, yes }: PromptOptions): Prompts {
  const put = async (question: InquirerQuestion): Promise<unknown> => {
    const { default: inquirer } = await import('inquirer');
    const endOfInput = new AbortController();
    const prompt = inquirer.createPromptModule({ output: process.stderr, signal: endOfInput.signal });
    // Inquirer waits on after Ctrl-D, for input that cannot come any more.
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
  };
  const secret = async (message: string, validate?: Validate): Promise<string> =>
    String(await put({ type: 'password', message, mask: false, toggleMask: false, ...(validate && { validate }) }));
  const demandTerminal = (message: string, flag: string): void => {
    if (!possible) throw usageError(`${message} is missing.`, `give it with ${flag}`);
  };
  return {
    possible,
    ask: async ({ message, initial, problem }) =>
      String(
        await put({
          type: 'input',
          message,
          ...(initial === undefined ? {} : { default: initial }),
          validate: async (answer: string) => (await problem?.(answer)) ?? true,
        }),
      ),
    askSecret: async (message, flag) => {
      demandTerminal(message, flag);
      return secret(message);
    },
    askNewSecret: async (message, flag, problem) => {
      demandTerminal(message, flag);
      for (;;) {
        const typed = await secret(message, async (answer) => (await problem(answer)) ?? true);
        if ((await secret(`${message}, once more`)) === typed) return typed;
        process.stderr.write('The two are not the same.\n');
      }
    },
    confirm: async (message) => {
      if (yes) return;
      if (!possible) throw refused(`${message} There is no terminal to confirm it.`, 'repeat it with --yes');
      if ((await put({ type: 'confirm', message, default: false })) !== true)
        throw refused('Not confirmed; nothing was changed.', 'repeat the command and answer y');
    },
    confirmByName: async (message, names, typed) => {
      const [name = ''] = names;
      const again = `repeat the command with --confirm ${name}`;
      if (typed !== undefined) {
        if (names.includes(typed)) return;
        throw refused(`The value of --confirm is wrong: it must be ${[...new Set(names)].join(' or ')}.`, again);
      }
      if (!possible) throw refused(`${message} There is no terminal to confirm it.`, again);
      const answer = await put({ type: 'input', message: `${message} Type ${name} to confirm:` });
      if (!names.includes(String(answer))) throw refused('Not confirmed; nothing was changed.', again);
    },
  };
}

/** Inquirer breaks lines anywhere. It puts a mark of two columns before a question; the last line has room for the hint behind it. */
function wrapped(message: string, hint: string): string {
  const { columns } = process.stderr;
  if (!columns) return message;
  const text = wrapWords(message + hint, columns - 3);
  return hint === '' ? text : text.slice(0, 1 - hint.length).replace(/ $/, '');
}

function refused(message: string, fix: string): CommandError {
  return new CommandError('notAllowed', 'confirmation_refused', message, fix);
}
