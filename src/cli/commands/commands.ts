import { notAChoice } from '../line/choices.js';
import { type Command, command } from '../line/command.js';
import { completionScript, shells } from '../line/completion.js';
import { globalOptions } from '../line/global-options.js';
import { Lines } from '../terminal/lines.js';
import { columns } from '../terminal/table.js';

const list = command({
  path: 'commands',
  summary: 'Lists every command with its arguments and flags',
  examples: ['svc commands', 'svc commands --json'],
  needs: 'nothing',
  run: async ({ commands }) => ({
    value: { commands: commands.map(described), globalOptions },
    text: columns(
      ['COMMAND', 'DOES'],
      commands.map(({ path, summary }) => [path, summary]),
      { sentences: true },
    ),
  }),
});

const completion = command({
  path: 'completion',
  summary: 'Prints a completion script for a shell',
  arguments: [{ name: 'SHELL', summary: shells.join(', '), choices: shells }],
  examples: ['svc completion bash > svc-completion.bash', 'svc completion fish --json'],
  needs: 'nothing',
  run: async ({ args, commands }) => {
    const shell = shells.find((name) => name === args.argument('SHELL'));
    if (shell === undefined) throw notAChoice('SHELL', args.argument('SHELL'), shells);
    const script = completionScript(shell, commands, globalOptions);
    return { value: { shell, script }, text: Lines.text(script) };
  },
});

/** The commands about commands. */
export const listingCommands = [list, completion];

function described({ path, summary, options = [], arguments: positional = [] }: Command) {
  return { path, summary, options, arguments: positional };
}
