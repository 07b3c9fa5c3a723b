import { type Appliance, createAppliance } from '#src/appliance.js';
import type { OtherMasterKey } from '#src/features/index.js';
import type { LoadedConfig } from '#src/platform/config/load.js';
import type { Config } from '#src/platform/config/schema.js';
import { Secret } from '#src/platform/config/secret.js';
import { parseDatabaseUrl } from '#src/platform/db/index.js';
import { type SchemaStatus, unfinishedCopy } from '#src/platform/db/migrations.js';
import type { AuditContext } from '#src/platform/db/outbox.js';
import { createRuntime, type Replacements, type Runtime } from '#src/platform/index.js';
import { isAbsent } from '#src/platform/runtime/files.js';
import { assumeProject } from '../line/assumed-project.js';
import type { ApplianceCall, Command, CommandCall, CommandResult } from '../line/command.js';
import { type CommandError, explain, unusableError } from '../terminal/exit.js';
import { namingOwner } from './database-refusal.js';
import { prepareDirectories } from './directories.js';
import { load, requireDatabase, requireNoLog, schemaError } from './installation.js';

/** Opens the resources that a command needs, runs it, and closes them. */
export async function runCommand(command: Command, call: CommandCall): Promise<CommandResult | undefined> {
  const offline = command.offline?.(call);
  if (offline !== undefined) return offline;
  switch (command.needs) {
    case 'nothing':
      return command.run(call);
    case 'config':
      return command.run({ ...call, loaded: load(call) });
    case 'database': {
      const loaded = load(call, { needsMasterKey: false });
      const creates = command.creates?.(call.args) ?? false;
      if (creates) prepareDirectories(loaded.config);
      const usable = command.worksWithoutDatabase ? await usableOrEmpty(loaded, call) : loaded;
      return withRuntime(usable, call, creates, (runtime) => command.run({ ...call, loaded, runtime }));
    }
    case 'appliance': {
      const loaded = load(call);
      return withAppliance(loaded, call, async (appliance) => {
        requireUsableSchema(await appliance.runtime.migrator.status());
        await requireMasterKey(appliance);
        const { runtime, features } = appliance;
        const auditContext = (projectId: string | null) => operatorContext(appliance, projectId);
        const findProject = () => features.projects.get(runtime.db, call.args.required('--project'));
        const work: ApplianceCall['work'] = (projectId, body) => runtime.db.work(auditContext(projectId), body);
        const context = { ...call, loaded, appliance, runtime, features, findProject, auditContext, work };
        await assumeProject(command, context);
        return command.run(context);
      });
    }
  }
}

/** Opens all features while the body runs. */
export async function withAppliance<T>(
  { config }: Pick<LoadedConfig, 'config'>,
  { output }: Pick<CommandCall, 'output'>,
  body: (appliance: Appliance) => Promise<T>,
): Promise<T> {
  requireDatabase(config);
  try {
    const appliance = await createAppliance(forCommand(config, output), logOf(output));
    return await body(appliance).finally(() => appliance.close());
  } catch (error) {
    throw namingOwner(config, error);
  }
}

/** Opens the database while the body runs. Treats a missing one as empty, so that read-only commands do not create it. */
export async function withRuntime<T>(
  { config }: LoadedConfig,
  { output }: Pick<CommandCall, 'output'>,
  creates: boolean,
  body: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  requireNoLog(config);
  const { file } = parseDatabaseUrl(config.databaseUrl.reveal());
  const absent = file !== null && !creates && isAbsent(file);
  const databaseUrl = absent ? new Secret('sqlite::memory:') : config.databaseUrl;
  try {
    const runtime = await createRuntime({ ...forCommand(config, output), databaseUrl }, logOf(output));
    return await body(runtime).finally(() => runtime.close());
  } catch (error) {
    throw namingOwner(config, error);
  }
}

/** The settings, with an empty database in memory if theirs cannot be used. */
async function usableOrEmpty(loaded: LoadedConfig, call: CommandCall): Promise<LoadedConfig> {
  try {
    await withRuntime(loaded, call, false, ({ migrator }) => migrator.status());
    return loaded;
  } catch (error) {
    const { type, message } = explain(error);
    if (type === 'internal') throw error;
    call.output.note(`${message} This command goes on without the database.`);
    return { ...loaded, config: { ...loaded.config, databaseUrl: new Secret('sqlite::memory:') } };
  }
}

/**
 * Disables logging of database errors, because the command's own error contains them and stderr must be pure JSON with --json. --verbose
 * enables the full log.
 */
function logOf({ json, verbose }: CommandCall['output']): Replacements {
  if (verbose) return {};
  return json ? { writeLog: () => {} } : { silentDatabase: true };
}

/** The configuration for a command. Unlike a server, it logs only problems, and to stderr. */
export function forCommand(config: Config, { verbose, quiet }: CommandCall['output']): Config {
  const logLevel = verbose ? 'debug' : quiet ? 'error' : 'warn';
  return { ...config, logLevel, logFormat: config.logFormat ?? 'pretty', logFile: undefined };
}

/** Throws if this version cannot work with the schema. Steps of a newer version that says so are no obstacle. */
export function requireUsableSchema({ pending, unusable }: SchemaStatus): void {
  requireCurrentSchema({ pending, unknown: unusable });
}

/** Throws if schema migrations are missing or unknown. */
export function requireCurrentSchema({ pending, unknown }: Pick<SchemaStatus, 'pending' | 'unknown'>): void {
  requireKnownSchema({ unknown });
  if (pending.length === 0) return;
  throw schemaError(`The database schema is too old. Pending: ${pending.join(', ')}.`, 'svc migrate');
}

/** Throws if the database holds a part of a copy only. */
export function requireFinishedCopy({ unknown }: Pick<SchemaStatus, 'unknown'>): void {
  if (!unknown.includes(unfinishedCopy)) return;
  throw schemaError(
    'This database holds an unfinished copy of another one.',
    'with the settings of the other one, run svc db copy again with --resume',
  );
}

/** Throws if a newer version has migrated the schema. */
export function requireKnownSchema({ unknown }: Pick<SchemaStatus, 'unknown'>): void {
  if (unknown.length === 0) return;
  requireFinishedCopy({ unknown });
  throw schemaError(
    `The database schema is newer than this version of svc. Unknown steps: ${unknown.join(', ')}.`,
    'install the version of svc that made it, or restore a backup; svc migrate status lists the steps',
  );
}

/** Throws if the database was set up with another master key. */
export async function requireMasterKey(appliance: Appliance): Promise<void> {
  const { runtime, features } = appliance;
  const other = await features.masterKey.open(runtime.db, operatorContext(appliance, null));
  if (other !== undefined) throw wrongMasterKey(other);
  features.masterKey.follow();
}

/** Error for a database that was set up with another master key. */
export function wrongMasterKey({ database, settings }: OtherMasterKey): CommandError {
  return unusableError(
    'master_key_wrong',
    `This database has another master key than the settings: it needs the one with the fingerprint ${database}, and they have ${settings}. Its secrets cannot be decrypted.`,
    'restore the svc.env of this database from your backup, or its SVC_MASTER_KEY; to use another database, set SVC_DATABASE_URL',
  );
}

/** Creates the audit context of the operator, with a new request id. */
export function operatorContext({ runtime }: Pick<Appliance, 'runtime'>, projectId: string | null): AuditContext {
  return { projectId, actor: { kind: 'operator', id: 'cli' }, requestId: runtime.random.id() };
}
