import { settings } from '#src/platform/config/schema.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { isAbsent } from '#src/platform/runtime/files.js';
import { load } from '../installation/installation.js';
import { changeSettings, requireValue, settingNamed } from '../installation/settings-change.js';
import { type CommandCall, type CommandResult, command, type ParsedArgs } from '../line/command.js';
import { readSecretFile, readStdin } from '../line/input.js';
import { idsOf, offered } from '../line/listed-ids.js';
import { ofCommands, reloadable } from '../serving/reload.js';
import { usageError } from '../terminal/exit.js';

const keyArgument = {
  name: 'KEY',
  summary: 'name of the setting, such as SVC_LOG_LEVEL; svc config show lists them',
} as const;

/** Projects that the error for an unknown one lists. */
const shownProjects = 20;

const set = command({
  path: 'config set',
  summary:
    'Changes a setting in the settings file, after checking all settings. Says whether the server must be restarted',
  arguments: [
    { ...keyArgument, summary: `${keyArgument.summary}; KEY=VALUE is accepted as well` },
    { name: 'VALUE', summary: 'the new value; not for secrets', optional: true },
  ],
  options: [
    { flag: '--value-file', value: 'FILE', summary: 'file with the value, such as a secret; - reads stdin' },
    {
      flag: '--and',
      value: 'KEY=VALUE',
      summary: 'another setting to change in the same step; repeatable',
      repeated: true,
    },
  ],
  examples: ['svc config set SVC_LOG_LEVEL debug', 'svc config set SVC_SESSION_DAYS 14 --json'],
  needs: 'nothing',
  run: async (call) => {
    const { key, value } = pairOf(call.args);
    settingNamed(key);
    const given = { [key]: await readValue(call.args, key, value), ...othersOf(call.args) };
    await requireProject(call, given);
    // The file of a value comes before the value, so that its line would hide the new one.
    const names = Object.keys(given);
    const files = names.filter((name) => !name.endsWith('_FILE')).map((name) => [`${name}_FILE`, null]);
    return changed(call, { ...Object.fromEntries(files), ...given }, names);
  },
});

const unset = command({
  path: 'config unset',
  summary:
    'Removes a setting from the settings file, which restores its default. Says whether the server must be restarted',
  arguments: [keyArgument],
  options: [
    { flag: '--and', value: 'KEY', summary: 'another setting to remove in the same step; repeatable', repeated: true },
  ],
  examples: ['svc config unset SVC_LOG_LEVEL', 'svc config unset SVC_SESSION_DAYS --json'],
  needs: 'nothing',
  run: async (call) => {
    const names = [call.args.argument('KEY'), ...call.args.list('--and')];
    for (const name of names) settingNamed(name);
    return changed(
      call,
      Object.fromEntries(
        names.flatMap((name) => [
          [name, null],
          [`${name}_FILE`, null],
        ]),
      ),
      names,
    );
  },
});

/** `svc config set` and `svc config unset` */
export const configChangeCommands = [set, unset];

/** The setting and its value, from `KEY VALUE` or `KEY=VALUE`. */
function pairOf(args: ParsedArgs): { readonly key: string; readonly value: string | undefined } {
  const [word, value] = [args.argument('KEY'), args.optionalArgument('VALUE')];
  const at = word.indexOf('=');
  if (at === -1) return { key: word, value };
  const key = word.slice(0, at);
  if (value !== undefined)
    throw usageError(`${key} has a value already.`, '--and KEY=VALUE changes another setting in the same step');
  return { key, value: word.slice(at + 1) };
}

async function readValue(args: ParsedArgs, key: string, value: string | undefined): Promise<string> {
  const file = args.text('--value-file');
  if ((value === undefined) === (file === undefined))
    throw usageError('Give either VALUE or --value-file.', `svc config set ${key} VALUE`);
  const read = file === undefined || file === '-' ? undefined : readSecretFile(file, '--value-file');
  const text = value === undefined || value === '-' ? (read ?? (await readStdin('--value-file'))) : value;
  requireValue(key, text, value !== undefined && value !== '-');
  return text;
}

/** The settings given by `--and`. */
function othersOf(args: ParsedArgs): Record<string, string> {
  const pairs = args.list('--and').map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at <= 0) throw usageError('--and must be KEY=VALUE.');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    requireValue(name, value, true);
    return [name, value];
  });
  return Object.fromEntries(pairs);
}

/** Refuses a project that does not exist, if the database can be read. The first project may be created later. */
async function requireProject(call: CommandCall, given: Readonly<Record<string, string>>): Promise<void> {
  const { key } = settings.project;
  const id = given[key];
  const isOtherDatabase = [settings.databaseUrl, settings.dataDir].some((setting) => setting.key in given);
  if (id === undefined || isOtherDatabase) return;
  const projects = await projectsOf(call);
  if (projects === undefined || projects.includes(id)) return;
  if (projects.length > 0)
    throw usageError(
      `${key}: there is no project ${id}. The projects are: ${projects.slice(0, shownProjects).join(', ')}.`,
      'svc project list shows them; svc project create NAME --id ID creates one',
    );
  call.output.note(`There is no project yet. svc project create NAME --id ${id} creates it.`);
}

/** The ids of all projects; undefined if they are unknown. */
async function projectsOf(call: CommandCall): Promise<string[] | undefined> {
  try {
    const loaded = load(call, { needsMasterKey: false });
    const { file } = parseDatabaseUrl(loaded.config.databaseUrl.reveal());
    if (file !== null && isAbsent(file)) return undefined;
    const ids = await idsOf(loaded, 'project', []);
    return ids.length < offered ? ids : undefined;
  } catch {
    return undefined;
  }
}

function changed(
  call: CommandCall,
  changes: Readonly<Record<string, string | null>>,
  names: readonly string[],
): CommandResult {
  const { file, isChanged, problems } = changeSettings(call, changes);
  for (const problem of problems) call.output.note(`Still to be corrected: ${problem}.`);
  for (const name of names.filter((one) => (call.environment[one] ?? '') !== ''))
    call.output.note(`The environment of this command sets ${name} too, and comes before the file.`);
  const used = names.map(settingNamed);
  const effect = used.every((name) => isIn(ofCommands, name))
    ? 'now'
    : used.every((name) => isIn(ofCommands, name) || isIn(reloadable, name))
      ? 'reload'
      : 'restart';
  const state = isChanged ? 'is changed' : 'is unchanged: it has these values already';
  return {
    value: {
      file,
      keys: names,
      changed: isChanged,
      restart: isChanged && effect === 'restart',
      reload: isChanged && effect === 'reload',
    },
    text: `${file} ${state}.${isChanged ? ` ${effects[effect]}` : ''}`,
  };
}

const effects = {
  now: 'Commands use the new value from now on.',
  reload: 'A running server uses the new value after systemctl reload svc, or SIGHUP. No restart is needed.',
  restart: 'A running server uses the new value after a restart: systemctl restart svc.',
} as const;

function isIn(list: readonly string[], name: string): boolean {
  return list.includes(name);
}
