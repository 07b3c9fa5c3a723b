import { accessSync, constants, existsSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Appliance, createAppliance } from '#src/appliance.js';
import type { Project } from '#src/contract/project.js';
import { customId, displayName } from '#src/contract/shapes.js';
import { toKey, toProject } from '#src/features/index.js';
import { type LoadedConfig, loadConfig } from '#src/platform/config/load.js';
import { DatabaseError } from '#src/platform/db/database-error.js';
import { fileProblem, renderConfig, writeConfig } from '../installation/config-file.js';
import { maskUrl } from '../installation/database-url.js';
import { prepareDirectories } from '../installation/directories.js';
import { chooseSettings } from '../installation/first-settings.js';
import { withFreeId } from '../installation/free-project-id.js';
import { load } from '../installation/installation.js';
import { operatorContext, requireKnownSchema, requireMasterKey, wrongMasterKey } from '../installation/run-command.js';
import { type CommandCall, type CommandResult, command } from '../line/command.js';
import { valid } from '../line/input.js';
import { localUrl } from '../serving/local-url.js';
import { CommandError, conflictError, exitCodes, explain, usageError } from '../terminal/exit.js';
import { Lines } from '../terminal/lines.js';
import { pairs } from '../terminal/table.js';

const projectName = displayName.refine((name) => name.trim() !== '', 'must have at least one character');

/** Flags for settings. Ignored if the file exists. */
const settingFlags = ['--data-dir', '--database', '--base-url', '--port', '--tokens-in-response'] as const;

/** `svc init` */
export const initCommand = command({
  path: 'init',
  summary: 'Sets up an installation: settings file, data directory and database. A second run changes nothing',
  options: [
    { flag: '--data-dir', value: 'DIR', summary: 'directory of all data (default: ./svc-data)' },
    { flag: '--database', value: 'URL', summary: 'sqlite:FILE or postgres://…; - reads the URL from stdin' },
    { flag: '--base-url', value: 'URL', summary: 'public address of the API, ending in /v1' },
    { flag: '--port', value: 'PORT', summary: 'port to listen on (default: 8080)' },
    {
      flag: '--tokens-in-response',
      value: 'WHO',
      summary: 'who gets secrets in responses while no mail is configured: auto, any, key or never',
    },
    { flag: '--project', value: 'NAME', summary: 'create a first project of this name, with a server key' },
    {
      flag: '--project-id',
      value: 'ID',
      summary: 'id of that project (default: the name in lower case, such as my-app)',
    },
  ],
  examples: ['svc init --yes', 'svc init --yes --project "My app" --json'],
  needs: 'nothing',
  run: async (call) => {
    const file = resolve(call.configFile ?? (call.environment.SVC_CONFIG || 'svc.env'));
    return existsSync(file) ? completeInstallation(call, file) : install(call, file);
  },
});

/** Asks and tests everything before it writes. A failed run leaves nothing that affects the next one. */
async function install(call: CommandCall, file: string): Promise<CommandResult> {
  requireWritable(file);
  const values = await chooseSettings(call);
  const project = await chooseProject(call);
  // Chosen values take precedence over the environment in this run; later runs only have the file.
  const loaded = loadConfig({ environment: call.environment, file, flags: values });
  const removeDirectories = prepareDirectories(loaded.config);
  let undo = removeDirectories;
  try {
    return await withAppliance(loaded, async (appliance) => {
      const { runtime, features } = appliance;
      const status = await runtime.migrator.status();
      requireKnownSchema(status);
      // A lost file cannot be replaced: it contains the master key of the database.
      const other = status.applied.length === 0 ? undefined : await features.masterKey.other(runtime.db);
      if (other !== undefined) throw wrongMasterKey(other);
      if (!writeConfig(file, renderConfig(values)))
        throw conflictError('file_exists', `${file} was written by another run meanwhile.`, 'svc init');
      undo = () => {
        rmSync(file, { force: true });
        removeDirectories();
      };
      const migrated = await migrateEmpty(appliance);
      // From here on, the database may contain data that requires this master key.
      undo = () => {};
      return setUp(call, { ...loaded, file }, appliance, { isNew: true, migrated, project });
    });
  } catch (error) {
    undo();
    throw existsSync(file) ? error : withoutSettings(error, loaded);
  }
}

/** Extends a database error with the URL and the flag for another database, because there are no settings yet for `svc config` to show. */
function withoutSettings(error: unknown, { config }: LoadedConfig): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const { exitCode, type, message, fix } = explain(error);
  const outcome = exitCode === exitCodes.unusable ? 'unusable' : 'unreachable';
  const repair = fix.replace(/[;,]? ?svc config show .*$/, '');
  const said = `${maskUrl(config.databaseUrl.reveal())}: ${message} Nothing was written.`;
  return new CommandError(
    outcome,
    type,
    said,
    `${repair}${repair.endsWith('?') ? ' Then' : ', then'} run svc init again; --database URL names another database`,
  );
}

/** Completes an existing installation, such as the schema after an interrupted run. Changes no settings. */
async function completeInstallation(call: CommandCall, file: string): Promise<CommandResult> {
  const ignored = settingFlags.filter((flag) => call.args.text(flag) !== undefined);
  if (ignored.length > 0)
    call.output.note(`${file} exists and is used as it is; ignored: ${ignored.join(', ')}. Change the file instead.`);
  const loaded = load({ ...call, configFile: file });
  prepareDirectories(loaded.config);
  return withAppliance(loaded, async (appliance) => {
    requireKnownSchema(await appliance.runtime.migrator.status());
    const migrated = await migrateEmpty(appliance);
    return setUp(call, loaded, appliance, { isNew: false, migrated, project: call.args.text('--project') ?? '' });
  });
}

async function withAppliance<T>({ config }: LoadedConfig, body: (appliance: Appliance) => Promise<T>): Promise<T> {
  const appliance = await createAppliance({ ...config, logLevel: 'error', logFile: undefined });
  try {
    return await body(appliance);
  } finally {
    await appliance.close();
  }
}

/** Throws, before any question, if the file cannot be written. */
function requireWritable(file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw fileProblem(file, error);
  }
}

/** Creates the schema in an empty database. An older schema is left to `svc migrate`. */
async function migrateEmpty({ runtime: { migrator } }: Appliance): Promise<boolean> {
  const { applied } = await migrator.status();
  return applied.length === 0 && (await migrator.up()).length > 0;
}

/** Facts and choices known before the database is set up. */
interface Situation {
  readonly isNew: boolean;
  readonly migrated: boolean;
  /** The name of a first project; empty for none. */
  readonly project: string;
}

async function setUp(
  call: CommandCall,
  loaded: LoadedConfig,
  appliance: Appliance,
  { isNew, migrated, project: name }: Situation,
): Promise<CommandResult> {
  const outdated = (await appliance.runtime.migrator.status()).pending.length > 0;
  if (!outdated) await requireMasterKey(appliance);
  const first = outdated || name === '' ? undefined : await firstProject(call, appliance, name);
  const config = String(loaded.file);
  const database = maskUrl(loaded.config.databaseUrl.reveal());
  const unchanged = !isNew && !migrated && first?.key === undefined;
  if (unchanged) call.output.note(`Everything is set up already by ${config}; nothing was changed.`);
  const made = pairs([
    ['settings', config],
    ['database', database],
    ...(first === undefined ? [] : [['project', `${first.project.id} (${first.project.name})`] as const]),
    ...(first?.key === undefined ? [] : [['server key', `${first.key.secret} (shown this once)`] as const]),
  ]);
  return {
    value: {
      config,
      database,
      ...(first === undefined ? {} : { project: toProject(first.project) }),
      ...(first?.key === undefined ? {} : { apiKey: { ...toKey(first.key), secret: first.key.secret } }),
    },
    ...(first?.key === undefined
      ? { text: made, next: outdated ? 'svc migrate' : 'svc serve' }
      : { text: Lines.parts([made, firstSteps(call, loaded, first.project.id)]) }),
  };
}

/** Commands to create a first user; they can be copied and run. */
function firstSteps({ output }: CommandCall, { config }: LoadedConfig, project: string): Lines {
  const { port, baseUrl, tlsCert } = config;
  const url = tlsCert === undefined && port !== 0 ? localUrl(config, port) : baseUrl;
  const user = JSON.stringify({ userId: 'unique()', email: 'anna@example.com', password: 'tall-green-bicycle' });
  return Lines.of([
    'Start the server:',
    '',
    `  ${output.named('svc serve')}`,
    '',
    'In another terminal, sign a user up:',
    '',
    `  curl -sS ${url}/account -H 'X-Service-Project: ${project}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${user}'`,
  ]);
}

/** Reads the name of a first project from flag or answer; empty for none. */
async function chooseProject({ args, prompts }: CommandCall): Promise<string> {
  const [name, id] = [args.text('--project'), args.text('--project-id')];
  if (id !== undefined) valid(customId, '--project-id', id);
  if (id !== undefined && name === undefined)
    throw usageError('--project-id needs the name of the project.', 'give it with --project NAME');
  if (name !== undefined) return valid(projectName, '--project', name);
  if (!prompts.possible || args.isSet('--yes')) return '';
  const message = 'Name of a first project (leave empty to create none)';
  const problem = (answer: string) =>
    answer.trim() === '' ? undefined : projectName.safeParse(answer).error?.issues[0]?.message;
  return (await prompts.ask({ message, problem })).trim();
}

/** Creates the first project if there is none. An existing project with this name is unchanged. */
async function firstProject({ args, output }: CommandCall, appliance: Appliance, name: string) {
  const { runtime, features } = appliance;
  const existing = await features.projects.list(runtime.db);
  const same = existing.find((project) => project.name === name);
  if (same !== undefined) return { project: same, key: undefined };
  if (existing.length > 0) {
    output.note(`There are projects already. To create another one: svc project create ${JSON.stringify(name)}`);
    return undefined;
  }
  const withId = (id: string) =>
    runtime.db.work(operatorContext(appliance, id), async (unit) => {
      const project: Project = await features.projects.create(unit, { id, name });
      const input = { name: 'server', scopes: ['all'], expire: null };
      return { project, key: await features.serverKeys.create(unit, id, input) };
    });
  const given = args.text('--project-id');
  return given === undefined ? withFreeId({ ...features, reader: runtime.db }, name, withId) : withId(given);
}
