import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Appliance, createAppliance } from '#src/appliance.js';
import type { Project } from '#src/contract/project.js';
import { toKey, toProject } from '#src/features/index.js';
import { type LoadedConfig, loadConfig } from '#src/platform/config/load.js';
import { type Call, command } from '../command.js';
import type { CommandResult } from '../command-result.js';
import { renderConfig, writeConfig } from '../config-file.js';
import { maskUrl } from '../database-url.js';
import { chooseSettings } from '../first-settings.js';
import { pairs } from '../output.js';
import { load, operatorContext, prepareDirectories, requireKnownSchema, requireMasterKey } from '../run-command.js';

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
  ],
  examples: ['svc init --yes', 'svc init --yes --project "My app" --json'],
  needs: 'nothing',
  run: async (call) => {
    const file = resolve(call.configFile ?? (call.environment.SVC_CONFIG || 'svc.env'));
    const written = existsSync(file) ? undefined : await writeSettings(call, file);
    // What was chosen by flag goes before the environment here too; later runs have the file only.
    const loaded = load({ ...call, configFile: file }, written === undefined ? {} : { flags: written });
    prepareDirectories(loaded.config);
    const appliance = await createAppliance({ ...loaded.config, logLevel: 'error' });
    try {
      return await setUp(call, loaded, appliance, written !== undefined);
    } finally {
      await appliance.close();
    }
  },
});

/** Asks for the settings and writes them; undefined where somebody else wrote the file meanwhile. */
async function writeSettings(call: Call, file: string): Promise<Record<string, string> | undefined> {
  const { environment } = call;
  const values = await chooseSettings(call);
  // Before anything is written: all of it has to be usable, what the environment says too.
  loadConfig({ environment, file, flags: values, needsMasterKey: false });
  return writeConfig(file, renderConfig(values)) ? values : undefined;
}

async function setUp(call: Call, loaded: LoadedConfig, appliance: Appliance, isNew: boolean): Promise<CommandResult> {
  const { migrator } = appliance.runtime;
  const schema = await migrator.status();
  requireKnownSchema(schema);
  // An empty database is filled, so that a run that was interrupted can be repeated; an older schema is for `svc migrate`.
  const migrated = schema.applied.length === 0 ? await migrator.up() : [];
  const outdated = schema.applied.length > 0 && schema.pending.length > 0;
  if (!outdated) await requireMasterKey(appliance);
  const first = outdated ? undefined : await firstProject(call, appliance);
  const config = String(loaded.file);
  const database = maskUrl(loaded.config.databaseUrl.reveal());
  const unchanged = !isNew && migrated.length === 0 && first?.key === undefined;
  if (unchanged) call.output.note('Everything is set up already; nothing was changed.');
  return {
    value: {
      config,
      database,
      ...(first === undefined ? {} : { project: toProject(first.project) }),
      ...(first?.key === undefined ? {} : { apiKey: { ...toKey(first.key), secret: first.key.secret } }),
    },
    text: pairs([
      ['settings', config],
      ['database', database],
      ...(first === undefined ? [] : [['project', `${first.project.id} (${first.project.name})`] as const]),
      ...(first?.key === undefined ? [] : [['server key', `${first.key.secret} (shown this once)`] as const]),
    ]),
    next: outdated ? 'svc migrate' : 'svc serve',
  };
}

/** Makes the first project where there is none yet; one of this name is left as it is. */
async function firstProject({ args, prompts, output }: Call, appliance: Appliance) {
  const { runtime, features } = appliance;
  const existing = await features.projects.list(runtime.db);
  const asks =
    existing.length === 0 && args.text('--project') === undefined && prompts.possible && !args.isSet('--yes');
  const name =
    args.text('--project') ??
    (asks ? (await prompts.ask({ message: 'Name of a first project (leave empty to create none)' })).trim() : '');
  if (name === '') return undefined;
  const same = existing.find((project) => project.name === name);
  if (same !== undefined) return { project: same, key: undefined };
  if (existing.length > 0) {
    output.note(`There are projects already. To create another one: svc project create ${JSON.stringify(name)}`);
    return undefined;
  }
  const id = runtime.random.id();
  return runtime.db.work(operatorContext(appliance, id), async (unit) => {
    const project: Project = await features.projects.create(unit, { id, name });
    const input = { name: 'server', scopes: ['all'], expire: null };
    return { project, key: await features.serverKeys.create(unit, id, input) };
  });
}
