import { load, requireDatabase } from '../installation/installation.js';
import { notAChoice } from '../line/choices.js';
import { type CommandCall, command, optionalProject } from '../line/command.js';
import { idsOf, type Listed, listed, onlyProject } from '../line/listed-ids.js';
import { usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';

/** Jobs have no rows in the database. */
const nouns = [...listed, 'cron'] as const;

/** Timeout for the database during completion. After it, nothing is offered. */
const patienceMs = 300;

/** The flags that select the parent resources. */
const projectFlag = optionalProject('the project');
const databaseFlag = {
  flag: '--database',
  value: 'ID',
  summary: 'the database, for collections',
  values: 'database',
} as const;

/** `svc ids` lists values for shell completion. It must be fast, so it does not load other commands or the features. */
export const idsCommand = command({
  path: 'ids',
  summary:
    'Prints the ids that completion offers, one per line. Prints nothing if the database takes longer than 300 ms',
  arguments: [{ name: 'NOUN', summary: nouns.join(', '), choices: nouns }],
  options: [projectFlag, databaseFlag],
  examples: ['svc ids project', 'svc ids user --project shop --json'],
  needs: 'nothing',
  run: async (call) => {
    const { args } = call;
    const noun = nouns.find((one) => one === args.argument('NOUN'));
    if (noun === undefined) throw notAChoice('NOUN', args.argument('NOUN'), nouns);
    const loaded = load(call, { needsMasterKey: false });
    requireDatabase(loaded.config);
    const flags = flagsOf(noun);
    if (flags.includes(projectFlag) && args.text('--project') === undefined)
      args.assume('--project', loaded.config.project ?? (await withPatience(onlyProject(loaded))));
    const within = flags.map(({ flag }) => {
      const id = args.text(flag);
      if (id === undefined) throw usageError(`The flag ${flag} is required for ${noun}.`, `svc ids ${noun} ${flag} ID`);
      return id;
    });
    const ids = noun === 'cron' ? await jobNames(call) : await withPatience(idsOf(loaded, noun, within));
    return { value: { ids }, text: Lines.of(ids) };
  },
});

function flagsOf(noun: Listed | 'cron'): readonly (typeof projectFlag | typeof databaseFlag)[] {
  if (noun === 'project' || noun === 'cron') return [];
  return noun === 'collection' ? [projectFlag, databaseFlag] : [projectFlag];
}

/** Only the features know the jobs. */
async function jobNames(call: CommandCall): Promise<readonly string[]> {
  const { jobsOf } = await import('./cron.js');
  return jobsOf(call);
}

async function withPatience<T>(asked: Promise<T>): Promise<T> {
  const timer = setTimeout(() => process.exit(0), patienceMs);
  try {
    return await asked;
  } finally {
    clearTimeout(timer);
  }
}
