import { type Command, command } from '../command.js';
import { completionScript, shells } from '../completion.js';
import { usageError } from '../exit.js';
import { globalOptions } from '../global-options.js';
import { columns } from '../output.js';

const list = command({
  path: 'commands',
  summary: 'Lists every command, for people and for programs',
  examples: ['svc commands', 'svc commands --json'],
  needs: 'nothing',
  run: async ({ roster }) => ({
    value: { commands: roster.map(described), globalOptions },
    text: columns(
      ['COMMAND', 'DOES'],
      roster.map(({ path, summary }) => [path, summary]),
    ),
  }),
});

const completion = command({
  path: 'completion',
  summary: 'Prints a script that completes commands and flags in a shell',
  arguments: [{ name: 'SHELL', summary: shells.join(', '), choices: shells }],
  examples: ['svc completion bash > svc-completion.bash', 'svc completion fish --json'],
  needs: 'nothing',
  run: async ({ typed, roster }) => {
    const shell = shells.find((name) => name === typed.argument('SHELL'));
    if (shell === undefined) throw usageError('There is no completion for this shell.', `use ${shells.join(', ')}`);
    const script = completionScript(shell, roster, globalOptions);
    return { value: { shell, script }, text: script };
  },
});

/** The commands about commands. */
export const rosterCommands = [list, completion];

function described({ path, summary, options = [], arguments: positional = [] }: Command) {
  return { path, summary, options, arguments: positional };
}
