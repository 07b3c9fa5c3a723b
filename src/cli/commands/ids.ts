import { type Command, command, type ParsedArgs } from '../command.js';
import { usageError } from '../exit.js';
import { Lines } from '../lines.js';

/** What can be listed by its id, as the noun of its list command. */
const listedNouns = [
  ...['project', 'platform', 'apikey', 'provider', 'user', 'team'],
  ...['database', 'collection', 'bucket', 'webhook', 'cron'],
] as const;

/** Somebody who presses Tab does not wait longer than this for the database; then nothing is offered. */
const patienceMs = 300;

/** `svc ids`, by which completion offers values */
export const idsCommand = command({
  path: 'ids',
  summary: 'Prints the ids that completion offers, one a line; nothing if the database takes longer than 300 ms',
  arguments: [{ name: 'NOUN', summary: listedNouns.join(', '), choices: listedNouns }],
  options: [
    { flag: '--project', value: 'ID', summary: 'the project', values: 'project' },
    { flag: '--database', value: 'ID', summary: 'the database, for collections', values: 'database' },
  ],
  examples: ['svc ids project', 'svc ids user --project shop --json'],
  needs: 'appliance',
  run: async (call) => {
    const noun = call.args.argument('NOUN');
    const list = call.commands.find(({ path }) => path === `${noun} list`);
    if (list?.needs !== 'appliance' || !listedNouns.some((one) => one === noun))
      throw usageError(`There are no ids of '${noun}'.`, `use ${listedNouns.join(', ')}`);
    for (const { flag, required } of list.options ?? [])
      if (required && call.args.text(flag) === undefined)
        throw usageError(`The flag ${flag} is required for ${noun}.`, `svc ids ${noun} ${flag} ID`);
    const timer = setTimeout(() => process.exit(0), patienceMs);
    const result = await list.run({
      ...call,
      args: onlyPlaces(call.args, list),
      output: { ...call.output, note() {} },
    });
    clearTimeout(timer);
    const ids = idsIn(result?.value);
    return { value: { ids }, text: Lines.of(ids) };
  },
});

/** The flags that say where to look; every other flag of the list is not given. */
function onlyPlaces(args: ParsedArgs, { options = [] }: Command): ParsedArgs {
  const text = (flag: `--${string}`) =>
    ['--project', '--database'].includes(flag) && options.some((one) => one.flag === flag)
      ? args.text(flag)
      : undefined;
  return { ...args, text, required: (flag) => text(flag) ?? '', isSet: () => false, list: () => [] };
}

/** The ids of the one list in the JSON of a list command. */
function idsIn(value: unknown): string[] {
  const list = Object.values(value ?? {}).find((member) => Array.isArray(member)) ?? [];
  return list.flatMap((one: { $id?: unknown; key?: unknown; name?: unknown }) => {
    const id = one.$id ?? one.key ?? one.name;
    return typeof id === 'string' ? [id] : [];
  });
}
