import { type Command, command } from '../command.js';
import { columns } from '../output.js';
import { globalOptions } from '../program.js';

/** `svc commands` */
const commandsCommand = command({
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

/** The commands about commands. */
export const rosterCommands = [commandsCommand];

function described({ path, summary, options = [], arguments: positional = [] }: Command) {
  return { path, summary, options, arguments: positional };
}
