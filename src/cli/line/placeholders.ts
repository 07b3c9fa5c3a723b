import type { Command, ParsedArgs } from './command.js';

/** Values for the names in next steps, from a parsed command line. */
export function placeholdersOf({ command, args }: { readonly command: Command; readonly args: ParsedArgs }) {
  const flags = (command.options ?? []).map(({ flag }) => flag);
  const text = (flag: `--${string}`) => (flags.includes(flag) ? args.text(flag) : undefined);
  const given: Record<string, string | undefined> = {
    P: text('--project'),
    D: text('--database'),
    ID: text('--id') ?? text('--project-id'),
    TEAM: text('--id'),
    KEY: text('--key'),
  };
  if (command.path.startsWith('project ')) given.P = given.ID;
  for (const { name } of command.arguments ?? []) given[name] = args.optionalArgument(name);
  // Commands for attributes and indexes use COLLECTION for the collection and KEY for their own argument.
  if (given.COLLECTION !== undefined) Object.assign(given, { ID: given.COLLECTION, INDEX: given.KEY });
  return given;
}
