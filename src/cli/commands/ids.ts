import { notAChoice } from '../choices.js';
import { type Call, command } from '../command.js';
import { usageError } from '../exit.js';
import { load, requireDatabase } from '../installation.js';
import { Lines } from '../lines.js';
import { idsOf, type Listed, listed } from '../listed-ids.js';

/** Jobs are no rows of the database. */
const nouns = [...listed, 'cron'] as const;

/** Somebody who presses Tab does not wait longer than this for the database; then nothing is offered. */
const patienceMs = 300;

/** The flags that say where to look. */
const projectFlag = { flag: '--project', value: 'ID', summary: 'the project', values: 'project' } as const;
const databaseFlag = {
  flag: '--database',
  value: 'ID',
  summary: 'the database, for collections',
  values: 'database',
} as const;

/** `svc ids`, by which completion offers values. It has to be quick: nothing of the other commands and of the features is loaded. */
export const idsCommand = command({
  path: 'ids',
  summary: 'Prints the ids that completion offers, one a line; nothing if the database takes longer than 300 ms',
  arguments: [{ name: 'NOUN', summary: nouns.join(', '), choices: nouns }],
  options: [projectFlag, databaseFlag],
  examples: ['svc ids project', 'svc ids user --project shop --json'],
  needs: 'nothing',
  run: async (call) => {
    const { args } = call;
    const noun = nouns.find((one) => one === args.argument('NOUN'));
    if (noun === undefined) throw notAChoice('NOUN', args.argument('NOUN'), nouns);
    const within = flagsOf(noun).map(({ flag }) => {
      const id = args.text(flag);
      if (id === undefined) throw usageError(`The flag ${flag} is required for ${noun}.`, `svc ids ${noun} ${flag} ID`);
      return id;
    });
    const loaded = load(call, { needsMasterKey: false });
    requireDatabase(loaded.config);
    const ids = noun === 'cron' ? await jobNames(call) : await withPatience(idsOf(loaded, noun, within));
    return { value: { ids }, text: Lines.of(ids) };
  },
});

function flagsOf(noun: Listed | 'cron'): readonly (typeof projectFlag | typeof databaseFlag)[] {
  if (noun === 'project' || noun === 'cron') return [];
  return noun === 'collection' ? [projectFlag, databaseFlag] : [projectFlag];
}

/** Jobs are known to the features only. */
async function jobNames(call: Call): Promise<readonly string[]> {
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
