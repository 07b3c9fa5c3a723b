import type { Command, ParsedArgs } from './command.js';

/** What the placeholders of the hints stand for in a command line that was read. */
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
  // Commands about the parts of a collection call it COLLECTION, and their own argument KEY.
  if (given.COLLECTION !== undefined) Object.assign(given, { ID: given.COLLECTION, INDEX: given.KEY });
  return given;
}
